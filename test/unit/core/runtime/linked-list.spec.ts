import { LinkedList, type Linked } from '../../../../lib/core/runtime/linked-list.js';

class Item implements Linked<Item> {
  previous: Item | undefined;
  next: Item | undefined;

  constructor(readonly name: string) {}
}

describe('a linked list', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => new Item(name)) as [Item, Item, Item];
  let list: LinkedList<Item>;
  const names = (): string => list.all().reduce((text, { name }) => text + name, '');

  beforeEach(() => {
    list = new LinkedList();
    for (const item of [a, b, c]) list.add(item);
  });
  afterEach(() => list.all().forEach((item) => list.delete(item)));

  test('keeps the order of adding', () => {
    expect([names(), list.first, list.size]).toEqual(['abc', a, 3]);
  });

  test.each([
    [a, 'bc'],
    [b, 'ac'],
    [c, 'ab'],
  ])('lets go of any of its items, and takes it again at the end', (item, left) => {
    expect(list.delete(item)).toBe(true);
    expect([names(), list.size]).toEqual([left, 2]);
    list.add(item);
    expect(names()).toBe(left + item.name);
  });

  test('says of what it does not hold that it had no effect', () => {
    list.delete(b);
    expect(list.delete(b)).toBe(false);
    expect([names(), list.size]).toEqual(['ac', 2]);
  });

  test('gives those in it, whatever is deleted meanwhile', () => {
    const seen = list.all().map((item) => {
      for (const other of [a, b, c]) list.delete(other);
      return item.name;
    });
    expect([seen, list.size, list.first]).toEqual([['a', 'b', 'c'], 0, undefined]);
  });
});
