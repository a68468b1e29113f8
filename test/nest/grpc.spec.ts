import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata, status } from '@grpc/grpc-js';
import { Controller, Injectable, UseInterceptors } from '@nestjs/common';
import {
  type ClientGrpcProxy,
  ClientProxyFactory,
  GrpcMethod,
  GrpcStreamMethod,
  type MicroserviceOptions,
  Transport,
} from '@nestjs/microservices';
import {
  FairLocked,
  FairLockInterceptor,
  FairLockService,
  LockLostError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { firstValueFrom, map, type Observable, of, Subject, toArray } from 'rxjs';
import { freePort } from '../support/redis.js';
import { onNest12 } from './nest-version.js';
import { free, held, lockedModule, waiting } from './web-app.js';

const PROTO = `syntax = "proto3";
package orders;
message Part { string id = 1; }
service Orders {
  rpc Above (stream Part) returns (stream Part) {}
  rpc Intercepted (stream Part) returns (stream Part) {}
  rpc Pay (Part) returns (Part) {}
  rpc Book (Part) returns (Part) {}
  rpc Feed (Part) returns (stream Part) {}
}`;

interface Part {
  readonly id: string;
}

const feed = new Subject<Part>();

@Injectable()
class Payments {
  @FairLocked('order:<0>', { waitTime: Infinity, maxQueue: 1, requestScope: 'deep' })
  async pay(id: string): Promise<Part> {
    if (id === 'lost') throw new LockLostError('order:lost', 'for the test');
    if (id === 'late') throw new LockTimeoutError('order:late', 1_000);
    return { id: `paid ${id}` };
  }
}

@Controller()
class OrdersController {
  @FairLocked('parts', { returns: 'observable' })
  @GrpcStreamMethod('Orders', 'Above')
  above(parts: Observable<Part>): Observable<Part> {
    return parts.pipe(map(({ id }) => ({ id: `above ${id}` })));
  }

  @GrpcStreamMethod('Orders', 'Intercepted')
  @UseInterceptors(FairLockInterceptor.for(() => 'parts'))
  intercepted(parts: Observable<Part>): Observable<Part> {
    return parts.pipe(map(({ id }) => ({ id: `intercepted ${id}` })));
  }

  constructor(private readonly payments: Payments) {}

  @GrpcMethod('Orders', 'Pay')
  pay({ id }: Part): Promise<Part> {
    return this.payments.pay(id);
  }

  @GrpcMethod('Orders', 'Book')
  @FairLocked('order:<0.id>')
  async book(part: Part): Promise<Part> {
    return part;
  }

  @GrpcMethod('Orders', 'Feed')
  @FairLocked('feed', { returns: 'observable' })
  feed(_part: Part): Observable<Part> {
    return feed;
  }
}

describe('a gRPC handler', () => {
  let client: ClientGrpcProxy;
  let locks: FairLockService;
  let close: () => Promise<void>;
  let orders: Record<string, (parts: unknown, ...options: object[]) => Observable<Part>>;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'proto-'));
    const protoPath = join(folder, 'orders.proto');
    writeFileSync(protoPath, PROTO);
    const module = await lockedModule({ controllers: [OrdersController], providers: [Payments] });
    const url = `127.0.0.1:${await freePort()}`;
    const options = { transport: Transport.GRPC as const, options: { package: 'orders', protoPath, url } };
    const app = module.createNestMicroservice<MicroserviceOptions>({ ...options, logger: false });
    await app.listen();
    client = ClientProxyFactory.create(options);
    orders = client.getService('Orders');
    locks = module.get(FairLockService);
    close = async () => {
      client.close();
      await app.close();
      rmSync(folder, { recursive: true });
    };
  });
  afterAll(() => close());

  // Nest 11 drops what it has kept when the client ends its stream.
  onNest12.each(['above', 'intercepted'])(
    'reads each message that came while it waited: %s',
    async (method) => {
      const lock = await locks.acquire('parts');
      const answers = firstValueFrom(orders[method]!(of({ id: '1' }, { id: '2' })).pipe(toArray()));
      await waiting(locks, 'parts', 1);
      await lock.release();
      // Nest may pass on a message that comes at the moment of the grant before those that it has kept.
      const ids = (await answers).map(({ id }) => id).sort();
      expect(ids).toEqual([`${method} 1`, `${method} 2`]);
      await free(locks, 'parts');
    },
  );

  test('whose client cancels gives its lock back', async () => {
    const reading = orders['feed']!({ id: '1' }).subscribe({ error: () => undefined });
    await held(locks, 'feed');
    reading.unsubscribe();
    await free(locks, 'feed');
  });

  test('whose client cancels leaves the line', async () => {
    await using _lock = await locks.acquire('feed');
    const reading = orders['feed']!({ id: '1' }).subscribe({ error: () => undefined });
    await waiting(locks, 'feed', 1);
    reading.unsubscribe();
    await waiting(locks, 'feed', 0);
  });

  describe('that answers once', () => {
    const pay = (id: string) => firstValueFrom(orders['pay']!({ id })).catch((error: unknown) => error);

    test.each([
      ['of the handler itself', 'book'],
      ["however deep the call, with requestScope: 'deep'", 'pay'],
    ])('leaves the line %s when its client cancels', async (_, method) => {
      await using _lock = await locks.acquire('order:1');
      const paying = orders[method]!({ id: '1' }).subscribe({ error: () => undefined });
      await waiting(locks, 'order:1', 1);
      paying.unsubscribe();
      await waiting(locks, 'order:1', 0);
    });

    test('leaves the line when its deadline passes', async () => {
      await using _lock = await locks.acquire('order:1');
      const options = { deadline: Date.now() + 3_000 }; // in which a busy machine puts it in line
      const late = firstValueFrom(orders['book']!({ id: '1' }, new Metadata(), options));
      await waiting(locks, 'order:1', 1);
      await expect(late).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
      await waiting(locks, 'order:1', 0);
    });

    test('gets the status code that fits, and the message that is safe', async () => {
      await using _lock = await locks.acquire('order:1');
      const waits = orders['pay']!({ id: '1' }).subscribe({ error: () => undefined });
      await waiting(locks, 'order:1', 1);
      expect(await pay('1')).toMatchObject({ code: status.UNAVAILABLE });
      waits.unsubscribe();
      expect(await pay('late')).toMatchObject({
        code: status.ABORTED,
        details: 'The lock was not granted within 1000 ms.',
      });
      expect(await pay('lost')).toMatchObject({ code: status.INTERNAL, details: 'Internal Server Error' });
      expect(await pay('2')).toEqual({ id: 'paid 2' });
    });
  });
});
