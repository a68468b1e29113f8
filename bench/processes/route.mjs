/** An application with one Fastify route of Nest, locked as the subject says. */
import 'reflect-metadata';
import { Controller, Get, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { SUBJECTS } from '../subjects.mjs';
import { serve, settings } from './process.mjs';

const { url, subject: name } = settings;
const subject = SUBJECTS[name];
const imports = [];

class Route {
  async get(key) {
    return key.length > 0 ? 'ok' : 'no key';
  }
}

if (subject.package) {
  const { FairLocked, FairLockModule } = await import(subject.package);
  imports.push(FairLockModule.forRoot({ redis: url }));
  if (subject.open) decorate(FairLocked('route:<0>'));
} else if (subject.open) {
  const client = await subject.open(url);
  const section = Route.prototype.get;
  Route.prototype.get = function get(key) {
    return client.withLock(`route:${key}`, () => section.call(this, key));
  };
}
decorate(Get(':key'));
Param('key')(Route.prototype, 'get', 0);
Controller()(Route);

class App {}
const module = { module: App, imports, controllers: [Route] };
const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');

let before = process.cpuUsage();
const verbs = {
  /** CPU since the last time that it was asked, µs. */
  async cpu() {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    return { usedUs: user + system };
  },
};
serve(verbs, { port: app.getHttpServer().address().port });

function decorate(decorator) {
  const descriptor = Object.getOwnPropertyDescriptor(Route.prototype, 'get');
  Object.defineProperty(Route.prototype, 'get', decorator(Route.prototype, 'get', descriptor) ?? descriptor);
}
