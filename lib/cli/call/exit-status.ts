/** How a command ended, for scripts. The help describes each. */
export const EXIT = { done: 0, trouble: 1, usage: 2, notHeld: 3, unavailable: 4, noOutput: 5 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Arguments that cannot work. An address in the wrong place is repeated without its password. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message.replace(/:\/\/.*@/s, '://…@'));
  }
}
