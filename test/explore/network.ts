import { RedisError, type Reply } from '../simulation/mini-redis/reply.js';
import type { Outcome, Sent } from './outcome.js';

/** An answer as a text can tell it: an error is `['!', text]`. */
export type Answer = number | string | null | Answer[];
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

/** Puts what a client did on its way. */
export function applyOutcome(network: Network, { abandoned, sent }: Outcome): void {
  abandon(network, (slot) => abandoned.includes(slot));
  network.commands.push(...sent);
}

/** A client that crashed hears nothing any more; its commands arrive. */
export function applyCrash(network: Network): void {
  network.messages.length = 0;
  remove(network.late, ([kind]) => kind === 'message');
  abandon(network, () => true);
}

/** Nobody waits any more for the replies to these: their copies arrive, without a slot to reply to. */
function abandon({ commands, replies, late }: Network, isAbandoned: (slot: number) => boolean): void {
  for (const [i, command] of commands.entries())
    if (isAbandoned(command[0])) commands[i] = withoutSlot(command);
  remove(replies, ([slot]) => isAbandoned(slot));
  remove(late, ([kind, one]) => kind === 'reply' && isAbandoned(one[0]));
  for (const [i, [kind, one]] of late.entries()) {
    if (kind === 'command' && isAbandoned(one[0])) late[i] = [kind, withoutSlot(one)];
  }
}

function withoutSlot([, ...rest]: Sent): Sent {
  return [0, ...rest];
}

function remove<T>(list: T[], unwanted: (one: T) => boolean): void {
  for (let i = list.length - 1; i >= 0; i--) if (unwanted(list[i]!)) list.splice(i, 1);
}
