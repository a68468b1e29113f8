import { setImmediate as immediate } from 'node:timers/promises';
import { ShopData, StaleWriteError } from './shop-data.js';

interface Entry {
  readonly value: number;
  readonly token: number;
}

/** In this process; takes a turn of the event loop, as a database would. */
export class MemoryShopData extends ShopData {
  private readonly entries = new Map<string, Entry>();

  async read(name: string): Promise<number> {
    await immediate();
    return this.entries.get(name)?.value ?? 0;
  }

  async write(numbers: Readonly<Record<string, number>>): Promise<void> {
    await immediate();
    for (const [name, value] of Object.entries(numbers)) {
      this.entries.set(name, { value, token: this.lastToken(name) });
    }
  }

  async writeFenced(name: string, value: number, token: number): Promise<void> {
    await immediate();
    if (token < this.lastToken(name)) throw new StaleWriteError(name, token);
    this.entries.set(name, { value, token });
  }

  private lastToken(name: string): number {
    return this.entries.get(name)?.token ?? 0;
  }
}
