import { setImmediate as immediate } from 'node:timers/promises';
import { type Parcel } from '../shipping/parcel.js';
import { ShopData, StaleWriteError } from './shop-data.js';

interface Entry {
  readonly value: number;
  readonly token: number;
}

/** In this process; takes a turn of the event loop, as a database would. */
export class MemoryShopData extends ShopData {
  private readonly entries = new Map<string, Entry>();
  private parcels: readonly Parcel[] = [];

  async read(name: string): Promise<number> {
    await immediate();
    return this.entries.get(name)?.value ?? 0;
  }

  async write(numbers: Readonly<Record<string, number>>, parcel?: Parcel): Promise<void> {
    await immediate();
    for (const [name, value] of Object.entries(numbers)) {
      this.entries.set(name, { value, token: this.lastToken(name) });
    }
    if (parcel) this.parcels = [...this.parcels, parcel];
  }

  async outbox(): Promise<Parcel[]> {
    await immediate();
    return [...this.parcels];
  }

  async handedOver({ id }: Parcel): Promise<void> {
    await immediate();
    this.parcels = this.parcels.filter((parcel) => parcel.id !== id);
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
