import { ConsoleLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Journal } from './journal.js';
import { describeApi } from './open-api.js';
import { Settings } from './settings.js';

const app = await NestFactory.create(AppModule, {
  logger: new ConsoleLogger({ json: process.env['LOG'] === 'json' }),
});
// On SIGTERM, requests that wait for a lock leave the line, and sections that hold one may finish.
app.enableShutdownHooks();
describeApi(app);

const { host, port } = app.get(Settings);
await app.listen(port, host);
app.get(Journal).note('open', { url: await app.getUrl() });
