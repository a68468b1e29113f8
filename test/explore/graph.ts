import { hash } from './texts.js';

/** A value as it stands in the text of a graph: `[n]` refers to node n, and a text begins with `s`. */
type Written = number | boolean | null | string | readonly [node: number];
type Node = readonly [shape: number, ...values: Written[]];

/** So few that no number of a shape is taken for a time. */
const SHAPES = 1_000_000;
const WORDS: Readonly<Record<string, unknown>> = { i: Infinity, j: -Infinity, u: undefined };

/**
 * Writes a graph of objects as a text and makes it anew from that text: plain objects, arrays, maps, sets, and objects of known classes, which
 * may refer to each other in circles. Equal graphs have equal texts.
 */
export class GraphCodec {
  private readonly shapes = new Map<number, { prototype: object | null; keys: readonly string[] }>();
  private readonly shapesOf = new Map<
    object | null,
    { readonly id: number; readonly keys: readonly string[] }[]
  >();

  /** @param constants objects that no state changes: a text refers to them by their position */
  constructor(private readonly constants: readonly object[]) {}

  write(root: object): string {
    const nodes: Node[] = [];
    const ids = new Map<object, number>();
    const value = (one: unknown): Written => {
      if (typeof one === 'number') return Number.isFinite(one) ? one : one > 0 ? 'i' : 'j';
      if (typeof one === 'string') return `s${one}`;
      if (one === undefined) return 'u';
      if (one === null || typeof one === 'boolean') return one;
      if (typeof one === 'object') return reference(one);
      if (typeof one === 'function') return `c${this.constant(one)}`;
      throw new Error(`a state cannot contain a ${typeof one}`);
    };
    const reference = (one: object): Written => {
      const constant = this.constants.indexOf(one);
      if (constant >= 0) return `c${constant}`;
      const known = ids.get(one);
      if (known !== undefined) return [known];
      const id = nodes.length;
      ids.set(one, id);
      nodes.push([0]);
      if (Array.isArray(one)) nodes[id] = [-1, ...one.map(value)];
      else if (one instanceof Map) nodes[id] = [-2, ...[...one].flat().map(value)];
      else if (one instanceof Set) nodes[id] = [-3, ...[...one].map(value)];
      else nodes[id] = [this.shapeOf(one), ...Object.values(one).map(value)];
      return [id];
    };
    reference(root);
    return JSON.stringify(nodes);
  }

  read(text: string): object {
    const nodes = JSON.parse(text) as Node[];
    const objects = nodes.map(([shape]): object => {
      if (shape === -1) return [];
      if (shape === -2) return new Map();
      if (shape === -3) return new Set();
      return Object.create(this.shapes.get(shape)!.prototype) as object;
    });
    const value = (one: Written | undefined): unknown => {
      if (Array.isArray(one)) return objects[one[0] as number];
      if (typeof one !== 'string') return one;
      if (one.startsWith('s')) return one.slice(1);
      if (one.startsWith('c')) return this.constants[Number(one.slice(1))];
      return WORDS[one];
    };
    for (const [id, node] of nodes.entries()) {
      const object = objects[id]!;
      if (Array.isArray(object)) {
        for (let i = 1; i < node.length; i++) object.push(value(node[i]));
      } else if (object instanceof Map) {
        for (let i = 1; i < node.length; i += 2) object.set(value(node[i]), value(node[i + 1]));
      } else if (object instanceof Set) {
        for (let i = 1; i < node.length; i++) object.add(value(node[i]));
      } else {
        const { keys } = this.shapes.get(node[0])!;
        for (let i = 0; i < keys.length; i++)
          (object as Record<string, unknown>)[keys[i]!] = value(node[i + 1]);
      }
    }
    return objects[0]!;
  }

  private constant(one: object): number {
    const index = this.constants.indexOf(one);
    if (index < 0) throw new Error(`a state cannot contain a function`);
    return index;
  }

  private shapeOf(one: object): number {
    const prototype = Object.getPrototypeOf(one) as object | null;
    const keys = Object.keys(one);
    let shapes = this.shapesOf.get(prototype);
    if (!shapes) this.shapesOf.set(prototype, (shapes = []));
    const known = shapes.find((shape) => areEqual(shape.keys, keys));
    if (known) return known.id;
    const name = keys.join();
    // By their names, since each search meets shapes in another order, and the texts shall be equal.
    const id = (hash(`${prototype?.constructor.name} ${name}`) >>> 0) % SHAPES;
    if (this.shapes.has(id)) throw new Error(`two shapes have the same number: ${name}`);
    this.shapes.set(id, { prototype, keys });
    shapes.push({ id, keys });
    return id;
  }
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, i) => key === other[i]);
}
