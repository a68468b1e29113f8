import {
  BadRequestException,
  Body,
  type CanActivate,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  Headers,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  Res,
  ServiceUnavailableException,
  type Type,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type ForceReleaseOptions } from '../core/engine/force-release.js';
import { LockConfigurationError, LockStoreUnavailableError } from '../core/errors/errors.js';
import { DEFAULT_NAME } from '../nest/fair-lock.tokens.js';
import { BoardFeed } from './board-feed.js';
import { EventStream } from './event-stream.js';
import { page, type PageFile } from './page.generated.js';

export interface BoardSettings {
  /** Makes two boards differ where Nest compares modules by their contents (`moduleIdGeneratorAlgorithm: 'deep-hash'`). */
  readonly path: string;
  readonly name: string;
  readonly readOnly: boolean;
}

export const BOARD_SETTINGS = Symbol('FairLock: settings of the board');

/** A header that no form can send. A script of another site can if CORS allows it, so the origin is checked as well. */
const COMMAND_HEADER = 'x-fair-lock-board';

/** What Express and Fastify have in common. */
interface PlatformRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly originalUrl?: string;
  readonly url: string;
}

/**
 * The page, its files, its data and its one command. Handlers send their responses and do not return them, because an interceptor that
 * wraps returned values would wrap the page as well.
 */
export class FairLockBoardController {
  constructor(
    @Inject(BoardFeed) private readonly feed: BoardFeed,
    @Inject(BOARD_SETTINGS) private readonly settings: BoardSettings,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
  ) {}

  @Get()
  index(@Req() request: PlatformRequest, @Res() response: unknown): void {
    const { name, readOnly } = this.settings;
    const file = page['index.html']!;
    const text = file.text
      .replaceAll('{{base}}', () => escapeHtml(baseOf(request)))
      .replaceAll('{{name}}', () => escapeHtml(name === DEFAULT_NAME ? '' : name))
      .replaceAll('{{read-only}}', String(readOnly));
    this.sendFile(response, { ...file, text });
  }

  @Get('events')
  events(@Req() { method }: PlatformRequest, @Query('key') key: unknown, @Res() response: unknown): void {
    if (this.feed.closed) throw new ServiceUnavailableException('The application is closing.');
    const stream = new EventStream(response, typeof key === 'string' ? key : undefined);
    // Both platforms call the handler of GET also for HEAD.
    if (method === 'HEAD') return stream.end();
    stream.onEnd(this.feed.watch(stream));
  }

  @Get(':file')
  file(@Param('file') name: string, @Res() response: unknown): void {
    const file = Object.hasOwn(page, name) ? page[name] : undefined;
    if (!file || name === 'index.html') throw new NotFoundException('The board has no such file.');
    this.sendFile(response, file);
  }

  @Post('force-release')
  @HttpCode(200)
  async forceRelease(
    @Headers(COMMAND_HEADER) command: unknown,
    @Req() request: PlatformRequest,
    @Body() body: unknown,
    @Res() response: unknown,
  ): Promise<void> {
    if (this.settings.readOnly) {
      throw new ForbiddenException(
        'The board is read-only. FairLockBoardModule.forRoot({ readOnly: false }) lets it take a lock from its holder.',
      );
    }
    if (command !== 'force-release') {
      throw new ForbiddenException(
        `The header ${COMMAND_HEADER}: force-release is missing, so the request may come from another site.`,
      );
    }
    if (comesFromElsewhere(request)) {
      throw new ForbiddenException(
        'The request comes from the page of another site. Only the page of the board itself can take a lock from its holder.',
      );
    }
    const { key, token, holder } = (body ?? {}) as { key?: unknown; token?: unknown; holder?: unknown };
    const named = namedBy(token, holder);
    if (typeof key !== 'string' || key === '' || !named) {
      throw new BadRequestException(
        'The body must be { key, token } or { key, holder } as JSON, with the fencing token of the hold to end, or the id of ' +
          'a holder without a token.',
      );
    }
    const released = await this.feed.locks.forceRelease(key, named).catch(explained);
    if (!released)
      throw new ConflictException('The lock has already been released or passed on; nothing was changed.');
    this.send(response, 'application/json; charset=utf-8', JSON.stringify({ released }));
  }

  private sendFile(response: unknown, { type, text }: PageFile): void {
    this.http.httpAdapter.setHeader(response, 'X-Content-Type-Options', 'nosniff');
    this.http.httpAdapter.setHeader(response, 'X-Frame-Options', 'SAMEORIGIN');
    this.http.httpAdapter.setHeader(response, 'Referrer-Policy', 'no-referrer');
    this.send(response, type, text);
  }

  private send(response: unknown, type: string, text: string): void {
    const { httpAdapter } = this.http;
    httpAdapter.setHeader(response, 'Content-Type', type);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-cache');
    httpAdapter.reply(response, text, 200);
  }
}

/** Makes a controller class for each board, because path and guards belong to the class. It is version-neutral. */
export function boardController(
  path: string,
  guards: readonly (Type<CanActivate> | CanActivate)[],
): Type<FairLockBoardController> {
  const controller = { FairLockBoardController: class extends FairLockBoardController {} }
    .FairLockBoardController;
  Controller({ path, version: VERSION_NEUTRAL })(controller);
  if (guards.length > 0) UseGuards(...guards)(controller);
  return controller;
}

/**
 * The relative path from the address of the page to its files, so that a proxy may strip a prefix: empty after a slash, else the last
 * segment of the path.
 */
function baseOf({ originalUrl, url }: PlatformRequest): string {
  const [path = ''] = (originalUrl ?? url).split(/[?#]/);
  const segment = path.slice(path.lastIndexOf('/') + 1);
  return segment === '' ? '' : `${segment}/`;
}

/**
 * Whether a browser says that the page of another site has sent the request. With CORS, as by `cors: true`, that page may send any header. A
 * browser tells a site without TLS only the origin. Other programs tell nothing.
 */
function comesFromElsewhere({ headers }: PlatformRequest): boolean {
  const { origin, host = headers[':authority'], 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && hostOf(origin) !== host;
}

function hostOf(origin: string | string[]): string | undefined {
  try {
    return new URL(String(origin)).host;
  } catch {
    return undefined; // `null`, of a page without an origin
  }
}

/** The one hold to end; undefined if the body names none, which would end all. */
function namedBy(token: unknown, holder: unknown): ForceReleaseOptions | undefined {
  if (holder === undefined)
    return typeof token === 'number' && Number.isSafeInteger(token) ? { token } : undefined;
  return typeof holder === 'string' && token === undefined ? { holder } : undefined;
}

/**
 * Responds with 400 for an invalid token, or for a token with a store without tokens, because the request is wrong and not the server. Where
 * Redis did not serve it, the page says why: the response may be lost, and the outcome unknown.
 */
function explained(error: unknown): never {
  if (error instanceof LockConfigurationError) throw new BadRequestException(error.details);
  if (error instanceof LockStoreUnavailableError) throw new ServiceUnavailableException(error.reason);
  throw error;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
