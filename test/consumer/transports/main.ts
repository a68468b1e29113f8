/** An application with a handler on each transport of Nest, which sets up nothing for the errors of locks. */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { FairLockModule } from 'nestjs-fair-lock';
import { AccountsController } from '../common/accounts.controller.js';
import { open } from '../common/open.js';
import { PlainDriver } from './plain-graphql.js';
import { Heartbeat, UsersController, UsersGateway, UsersResolver } from './users.js';

@Module({
  imports: [
    FairLockModule.forRoot({
      keyPrefix: process.env['KEY_PREFIX'] ?? 'consumer',
      filter: process.env['FILTER'] !== 'false',
    }),
    GraphQLModule.forRoot({ driver: PlainDriver, autoSchemaFile: true }),
  ],
  controllers: [AccountsController, UsersController],
  providers: [UsersResolver, UsersGateway, Heartbeat],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  app.useWebSocketAdapter(new WsAdapter(app));
  const port = Number(process.env['RPC_PORT']);
  app.connectMicroservice<MicroserviceOptions>(
    { transport: Transport.TCP, options: { host: '127.0.0.1', port } },
    { inheritAppConfig: true },
  );
  await app.startAllMicroservices();
  await open(app);
}

void start();
