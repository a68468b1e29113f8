/** What the tests of the testing kit test with it: a service as a user would write it. */
import { Inject, Injectable, Module } from '@nestjs/common';
import { FairLocked, FairLockModule, FairLockService } from 'nestjs-fair-lock';

@Injectable()
export class Orders {
  readonly log: string[] = [];

  // Named, since vitest's compiler leaves no types in the metadata.
  constructor(@Inject(FairLockService) readonly locks: FairLockService) {}

  @FairLocked('order:<0>')
  async pay(id: string): Promise<string> {
    this.log.push(`pay ${id} begins`);
    await Promise.resolve();
    this.log.push(`pay ${id} ends`);
    return `paid ${id}`;
  }

  @FairLocked(['account:<0>', 'account:<1>'])
  async transfer(from: string, to: string): Promise<string> {
    return `${from} to ${to}`;
  }

  @FairLocked('report', { waitTime: 0, onTimeout: 'skip' })
  async report(): Promise<string | undefined> {
    return 'reported';
  }

  @FairLocked('prices', { waitTime: 0, onTimeout: 'skip', holdAtLeast: 30_000 })
  async refreshPrices(): Promise<string | undefined> {
    return 'refreshed';
  }

  @FairLocked((order: { id: string }) => `order:${order.id}`)
  async cancel(order: { id: string }): Promise<string> {
    return `cancelled ${order.id}`;
  }

  @FairLocked('count')
  async count(begun: () => void): Promise<unknown> {
    const signal = this.locks.current()?.signal;
    await new Promise((resolve) => {
      signal?.addEventListener('abort', resolve);
      begun();
    });
    return signal?.reason;
  }

  @FairLocked('api:<0>', { permits: 3 })
  async callSupplier(name: string): Promise<string> {
    await new Promise(setImmediate);
    return name;
  }

  @FairLocked('page:<0>', { mode: 'read' })
  async show(page: string): Promise<string> {
    return `shown ${page}`;
  }

  @FairLocked('page:<0>')
  async save(page: string): Promise<string> {
    return `saved ${page}`;
  }

  /** Without a lock. */
  async look(id: string): Promise<string> {
    return `looked at ${id}`;
  }
}

export class CarelessOrders extends Orders {
  override async pay(id: string): Promise<string> {
    return `paid ${id} without a lock`;
  }
}

/** An application that registers the lock itself, on a Redis that is not there. */
@Module({
  imports: [FairLockModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
  providers: [Orders],
})
export class AppModule {}
