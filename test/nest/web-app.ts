/** Real Nest applications on a free port of the loopback, with locks in memory, on each HTTP platform. */
import { once } from 'node:events';
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Server as NetServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { type INestApplication, type LoggerService, type ModuleMetadata } from '@nestjs/common';
import { ClientProxyFactory, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  FairLockModule,
  type FairLockModuleOptions,
  type FairLockRegistrationOptions,
  FairLockService,
} from 'nestjs-fair-lock';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import { eventually, SOON, within } from '../support/waiting.js';

export { free, waiting } from '../unit/nest/nest.js';

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

export interface WebApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly locks: FairLockService;
}

/** With locks in memory, unless `options` say otherwise. */
export function lockedModule(
  metadata: ModuleMetadata,
  options: FairLockModuleOptions & FairLockRegistrationOptions = {},
): Promise<TestingModule> {
  const imports = [FairLockModule.forRoot({ store: 'memory', ...options }), ...(metadata.imports ?? [])];
  return Test.createTestingModule({ ...metadata, imports }).compile();
}

export async function webApp(
  platform: Platform,
  metadata: ModuleMetadata,
  options: FairLockModuleOptions & FairLockRegistrationOptions = {},
  configure: (app: INestApplication) => void = () => undefined,
): Promise<WebApp> {
  const module = await lockedModule(metadata, options);
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false })
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  configure(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), locks: module.get(FairLockService) };
}

/** Nest's log, to look at. */
export class Recorder implements LoggerService {
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  readonly debugged: string[] = [];
  log(): void {}
  error = (...parts: unknown[]) => this.errors.push(parts.join(' '));
  warn = (message: string, context: string) => this.warnings.push(`[${context}] ${message}`);
  debug = (message: string, context: string) => this.debugged.push(`[${context}] ${message}`);
}

/** A microservice on a free port, and a client of it. */
export async function tcpMicroservice(metadata: ModuleMetadata, logger: LoggerService | false = false) {
  const module = await lockedModule(metadata);
  const app = module.createNestMicroservice<MicroserviceOptions>({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: 0 },
    logger,
  });
  await app.listen();
  const { port } = app.unwrap<NetServer>().address() as AddressInfo;
  const anotherClient = () => ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
  const client = anotherClient();
  return {
    locks: module.get(FairLockService),
    client,
    anotherClient,
    send: (pattern: string, data: unknown = {}) => firstValueFrom(client.send<unknown>(pattern, data)),
    close: async () => {
      await client.close();
      await app.close();
    },
  };
}

/** A client of a gateway. */
export async function webSocket(web: { readonly url: string }, path = '/') {
  const socket = new WebSocket(web.url.replace('http', 'ws') + path);
  await once(socket, 'open');
  return {
    socket,
    send: (event: string, data: unknown = '') => socket.send(JSON.stringify({ event, data })),
    /** The next message that it receives. */
    answer: async () => {
      const [message] = (await within(once(socket, 'message'), SOON, 'an answer')) as [Buffer];
      return JSON.parse(message.toString()) as unknown;
    },
  };
}

/** Resolves when `key` is held. */
export async function held(locks: FairLockService, key: string): Promise<void> {
  await eventually(() => locks.isLocked(key), SOON, `${key} to be held`);
}

/** Resolves when the server has noticed that the next client went away. */
export async function noticed(app: INestApplication): Promise<void> {
  const server = app.getHttpServer() as Server;
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  await once(response, 'close');
}

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface RequestShape {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** The application that has the head of the request before its body is sent. */
  readonly late?: INestApplication;
}

/** One request on a connection of its own, which keeps no server from closing. The body is parsed where it is JSON. */
export async function ask(url: string, how: RequestShape = {}): Promise<Answer> {
  const [response] = (await once(send(url, how), 'response')) as [IncomingMessage];
  const body = await text(response);
  const isJson = response.headers['content-type']?.startsWith('application/json');
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? (JSON.parse(body) as unknown) : body,
  };
}

/** A request whose client goes away at `leave()`. */
export function leavingClient(url: string, how: RequestShape = {}): { leave(): void } {
  const request = send(url, how);
  request.on('error', () => undefined);
  return { leave: () => request.destroy() };
}

/** A client that sends requests to `paths` one behind the other on one connection, without waiting for answers (pipelining). */
export async function pipeliningClient(url: string, paths: readonly string[]): Promise<{ leave(): void }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`).join(''));
  return { leave: () => socket.destroy() };
}

function send(url: string, { method = 'GET', headers, body, late }: RequestShape): ClientRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const ofBody =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length };
  const sent = request(url, { method, headers: { ...ofBody, ...headers }, agent: false });
  if (late) {
    sent.flushHeaders();
    void once(late.getHttpServer() as Server, 'request').then(() => sent.end(text));
  } else sent.end(text);
  return sent;
}
