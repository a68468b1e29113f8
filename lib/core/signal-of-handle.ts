import { AsyncResource } from 'node:async_hooks';
import { controllerForMany } from './abort-relay.js';
import { ownScope, runInside, type Inside, type Scope } from './hold-scope.js';

/**
 * What `signal` of a handle gives out. Its listeners run in the async context of the flow that first asked for it, and
 * in the holds that the handle's own code is in: not in those of the branch that asked, nor of whatever code finds the
 * loss.
 */
export class SignalOfHandle {
  private readonly controller = controllerForMany();
  private readonly caller = new AsyncResource('FairLock.signal');
  private readonly scope: Scope | undefined;

  /** @param outer the scope in which the lock was asked for */
  constructor(inside: Inside, outer: Scope | undefined) {
    this.scope = ownScope(inside) ?? outer;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.caller.runInAsyncScope(runInside, undefined, this.scope, () => this.controller.abort(reason));
  }
}
