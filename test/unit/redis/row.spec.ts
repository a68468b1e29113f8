import { Row, type Neighbour } from '../../../lib/stores/redis/row.js';

const GRANTED_AT = 1_000;

/** A request that waits, unless a test ends it. */
function neighbour(sequence: number): Neighbour & { mayHaveTurn: boolean } {
  const id = `me:${sequence}`;
  return { id, about: ':me', name: `${id}::me`, mayHaveTurn: true };
}

describe('a row: the turns under one hold (rule 9)', () => {
  const two = neighbour(2);
  const three = neighbour(3);
  let row: Row<Neighbour>;
  /** A turn ends at this time after the grant: the token of the next. */
  const turnEnds = (after: number): number | undefined => {
    row.ended();
    return row.next(GRANTED_AT + after)?.token;
  };
  beforeEach(() => {
    two.mayHaveTurn = three.mayHaveTurn = true;
    row = new Row(11, [two, undefined, three], GRANTED_AT);
  });

  test('neighbours have their turns in order, with the tokens of their places; who has ended has none', () => {
    expect(turnEnds(10)).toBe(12);
    expect(row.words).toBe('12 me:2::me');
    expect(turnEnds(20)).toBe(14);
    expect(row.words).toBe('14 me:3::me');
    expect(turnEnds(30)).toBeUndefined();
    expect(row.takeServed()).toEqual([two, three]);
  });

  test('one that gave up meanwhile is passed over', () => {
    two.mayHaveTurn = false;
    expect(turnEnds(10)).toBe(14);
  });

  test('no turn begins more than 100 ms after the grant', () => {
    expect(turnEnds(100)).toBe(12);
    expect(turnEnds(101)).toBeUndefined();
    expect(row.takeServed()).toEqual([two]);
  });

  test('Redis learns 200 ms after the grant who has the turn, and after that nothing more', () => {
    expect(row.announceAt).toBeUndefined();
    turnEnds(10);
    turnEnds(20);
    expect(row.announceAt).toBe(GRANTED_AT + 200);
    row.announced();
    expect(row.announceAt).toBeUndefined();
    expect(row.words).toBe('');
  });

  test('the turn that a heartbeat names is the last, and is named again if that heartbeat is lost', () => {
    turnEnds(10);
    row.close();
    expect(row.takeServed()).toEqual([]);
    expect(row.words).toBe('12 me:2::me');
    expect(turnEnds(20)).toBeUndefined();
    expect(row.takeServed()).toEqual([two]);
  });

  test('a hold that was not handed on has nothing to tell', () => {
    expect(row.words).toBe('');
    row.close();
    expect(turnEnds(10)).toBeUndefined();
    expect(row.takeServed()).toEqual([]);
  });
});
