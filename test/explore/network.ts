import { RedisError, type Reply } from '../simulation/mini-redis/reply.js';
import type { Outcome, Sent } from './outcome.js';

/** An answer as a text can tell it: an error is `['!', text]`. */
type Answer = number | string | null | Answer[];
type Answered = readonly [slot: number, answer: Answer];

/** What is on its way between one client and the server, each in the order of its connection. */
export interface Network {
  readonly commands: Sent[];
  readonly replies: Answered[];
  readonly messages: string[];
  /** What left its connection: it may arrive at any time. */
  readonly late: Late[];
}

export type Late = readonly ['command', Sent] | readonly ['reply', Answered] | readonly ['message', string];

export const EMPTY_NETWORK = writeNetwork({ commands: [], replies: [], messages: [], late: [] });

export function readNetwork(text: string): Network {
  const [commands, replies, messages, late] = JSON.parse(text) as [
    Network['commands'],
    Network['replies'],
    Network['messages'],
    Late[],
  ];
  return { commands, replies, messages, late };
}

export function writeNetwork({ commands, replies, messages, late }: Network): string {
  if (late.length > 1) late.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return JSON.stringify([commands, replies, messages, late]);
}

export function answerText(answer: Reply): Answer {
  if (answer instanceof RedisError) return ['!', answer.text];
  return answer as Answer;
}

export function answerOf(answer: Answer): Reply {
  return Array.isArray(answer) && answer[0] === '!' ? new RedisError(String(answer[1])) : answer;
}

/** Puts what a client did on its way. Nobody waits any more for the replies to what it has given up. */
export function applyOutcome(network: Network, { abandoned, sent }: Outcome): void {
  for (const slot of abandoned) {
    const { commands, replies, late } = network;
    for (const [i, command] of commands.entries())
      if (command[0] === slot) commands[i] = withoutSlot(command);
    remove(replies, ([own]) => own === slot);
    remove(late, (one) => one[0] === 'reply' && one[1][0] === slot);
    for (const [i, one] of late.entries()) {
      if (one[0] === 'command' && one[1][0] === slot) late[i] = ['command', withoutSlot(one[1])];
    }
  }
  network.commands.push(...sent);
}

/** A copy of a command whose reply goes to nobody. */
export function withoutSlot([, ...rest]: Sent): Sent {
  return [0, ...rest];
}

function remove<T>(list: T[], unwanted: (one: T) => boolean): void {
  for (let i = list.length - 1; i >= 0; i--) if (unwanted(list[i]!)) list.splice(i, 1);
}
