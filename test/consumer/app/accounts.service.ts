import { Injectable } from '@nestjs/common';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';

export interface Payment {
  readonly account: string;
}

@Injectable()
export class AccountsService {
  private readonly gates = new Map<string, () => void>();

  constructor(private readonly locks: FairLockService) {}

  /** Holds the lock of the account until `open` is called for it. */
  @FairLocked('account:<0.account>')
  async pay(payment: Payment): Promise<{ token: number }> {
    await new Promise<void>((resolve) => this.gates.set(payment.account, resolve));
    this.gates.delete(payment.account);
    const lock = this.locks.current();
    lock?.assertHeld();
    return { token: lock?.token ?? 0 };
  }

  /** Whether a payment was under way here. */
  open(account: string): boolean {
    const open = this.gates.get(account);
    open?.();
    return open !== undefined;
  }

  async waiting(account: string): Promise<number> {
    return (await this.locks.inspect(`account:${account}`)).queueLength;
  }
}
