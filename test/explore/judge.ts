import { kindOf, nameOf, Violation, type Book } from './book.js';
import { fitTogether, type Kind } from './kinds.js';
import { clientAt, SERVER, type State, type World } from './world.js';

/**
 * The rule lets all sections be inside whose leases count, beside what is kept.
 *
 * @throws Violation
 */
export function judge(world: World, state: State, book: Readonly<Book>): void {
  const inside: string[] = [];
  const kinds = keptIn(book);
  for (let client = 0; clientAt(client) < state.length; client++) {
    const { asleep, sections } = world.facts(state[clientAt(client)]!);
    if (asleep) continue;
    for (const { sequence, token, counts } of sections) {
      if (!counts || token <= book.loose) continue;
      inside.push(nameOf(client, sequence));
      kinds.push(kindOf(book, client, sequence));
    }
  }
  if (fitTogether(kinds)) return;
  throw new Violation(
    'too many',
    `inside are ${inside.join(' and ')}; with what is kept, the kinds are ${kinds.join(' and ')}`,
  );
}

/** Nobody waits, or one that waits is kept out by a section, by a kept time, or by one that cannot answer. */
export function isOfUse(world: World, state: State, book: Readonly<Book>): boolean {
  const { holds } = world.held(state[SERVER]!);
  const inside = keptIn(book);
  const waiting: Kind[] = [];
  for (let client = 0; clientAt(client) < state.length; client++) {
    const facts = world.facts(state[clientAt(client)]!);
    if (facts.asleep) return true;
    if (facts.crashed) for (const hold of holds) if (hold.client === client) inside.push(hold.kind);
    for (const { sequence } of facts.sections) inside.push(kindOf(book, client, sequence));
    for (const sequence of facts.waiting) waiting.push(kindOf(book, client, sequence));
  }
  return book.setBack || waiting.length === 0 || waiting.some((kind) => !fitTogether([...inside, kind]));
}

const keptIn = ({ kept }: Readonly<Book>): Kind[] => kept.map(({ kind }) => kind);
