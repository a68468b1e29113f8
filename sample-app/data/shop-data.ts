import { ConflictException } from '@nestjs/common';

/**
 * The shop's numbers, by name: stock, sales, balances, prices. All instances share them.
 *
 * Deliberately naive, as most data is: reading and writing are two steps, and nothing here knows of locks. Code that reads,
 * thinks and writes without a lock overwrites what others have written since.
 */
export abstract class ShopData {
  /** 0 if it was never written. */
  abstract read(name: string): Promise<number>;

  /** Writes all of it in one transaction, or nothing. */
  abstract write(numbers: Readonly<Record<string, number>>): Promise<void>;

  /**
   * Writes with the fencing token of a lock, which rises with every holder: a holder that lost the lock without noticing
   * comes with a lower token than the present holder, and is refused.
   *
   * @throws StaleWriteError if a higher token was here before
   */
  abstract writeFenced(name: string, value: number, token: number): Promise<void>;
}

export class StaleWriteError extends ConflictException {
  constructor(name: string, token: number) {
    super(`A later holder of the lock has written ${name} already; the token ${token} comes too late.`);
  }
}
