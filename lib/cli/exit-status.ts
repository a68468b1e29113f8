/** How a command ended, for scripts. The help describes each. */
export const EXIT = { done: 0, trouble: 1, usage: 2, notHeld: 3, unavailable: 4, noOutput: 5 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Arguments that cannot work. */
export class UsageError extends Error {}
