import { Violation } from './book.js';
import { Play } from './play.js';
import { moveText, type Move, type Scope } from './scope.js';
import { clientAt, networkAt, SERVER, BOOK, type State, type World } from './world.js';

/** Plays moves one by one, and tells the state after each. */
export function* replay(world: World, scope: Scope, moves: readonly Move[]): Generator<string> {
  const play = new Play(world, scope);
  let state = world.sorted(world.initial(scope.clients));
  for (const [i, move] of moves.entries()) {
    yield `${i + 1}. ${moveText(move)}`;
    try {
      state = world.sorted(play.after(state, move));
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      yield `  ${error.message}`;
      return;
    }
    yield* described(world, state, scope);
  }
}

function* described(world: World, state: State, { clients }: Scope): Generator<string> {
  const text = (at: number): string => world.texts.text(state[at]!);
  yield `   server ${text(SERVER)}`;
  yield `   book ${text(BOOK)}`;
  for (let client = 0; client < clients; client++) {
    const { due, sections, waiting, made, asleep, up } = world.facts(state[clientAt(client)]!);
    yield (
      `   c${client} made ${made}, waits ${waiting.join() || '-'}, sections ${JSON.stringify(sections)}, due in ${due} ms` +
      `${asleep ? `, ${asleep}` : ''}${up ? '' : ', not subscribed'}; on the way ${text(networkAt(client))}`
    );
  }
}
