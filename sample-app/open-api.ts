import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

/** The shop's API, to read and to try: http://localhost:3000/api. */
export function describeApi(app: INestApplication): void {
  const document = new DocumentBuilder()
    .setTitle('Shop')
    .setDescription('A shop whose instances share locks: 423 says that a lock was not granted in time.')
    .build();
  SwaggerModule.setup('api', app, () => SwaggerModule.createDocument(app, document));
}
