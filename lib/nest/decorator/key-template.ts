import { LockKeyError } from '../../core/errors/errors.js';
import { described } from '../../core/errors/text.js';

/** The values that a placeholder may stand for: their text is the same in every process. */
export type KeyValue = string | number | bigint | boolean;

/** Where the paths of a template begin. */
export interface TemplateRoot {
  /** Which first steps exist. */
  readonly firstStep: RegExp;
  /** The form of a placeholder, for messages. */
  readonly form: string;
  /** The decorator with a key and options, for messages. */
  readonly example: string;
  /** Why a well-formed placeholder never finds a value, and what to write; undefined if it can. */
  readonly refuse?: (path: readonly string[]) => string | undefined;
  /** A placeholder as the paths of routes have it, whose name is the first group; undefined where these have no meaning. */
  readonly ofRoutes?: RegExp;
}

/** The arguments of a method: `<0>`, `<0.id>`. */
export const METHOD_ARGUMENTS: TemplateRoot = {
  firstStep: /^(?:0|[1-9]\d*)$/,
  form: '<index> or <index.property>, as in <0> or <0.id>',
  example: "@FairLocked('order:<0>', { waitTime: 5_000 })",
};

/** An HTTP request: `<params.id>`, `<headers.x-tenant>`. */
export const HTTP_REQUEST: TemplateRoot = {
  firstStep: /^[A-Za-z_$][\w$]*$/,
  form: '<property.property>, as in <params.id>',
  example: "FairLockInterceptor.for('cart:<params.id>', { waitTime: 5_000 })",
  refuse: ([part, name = '']) =>
    part === 'headers' && /[A-Z]/.test(name)
      ? `but Node gives headers their names in lower case: write <headers.${name.toLowerCase()}>`
      : undefined,
  ofRoutes: /(?:^|:):([A-Za-z_]\w*)/,
};

/** The decorated method or handler that a key belongs to. */
export interface KeyPlace {
  /** For messages: `OrdersService.pay`. */
  readonly name: string;
  /** Whether the values of the key come from a request, so that an unusable value is a mistake of the client. */
  fromRequest(): boolean;
}

/** Makes the key, or keys, of one call; the paths of the templates begin at `root`. */
type RenderKeys = (root: unknown) => string | readonly string[];

/**
 * Parses one template, or a list of them.
 *
 * A value stands in the key as `String(value)`, without an escape: `a:<0>:<1>` makes the same key from `b:c` and `d` as from
 * `b` and `c:d`, so that two things share a lock; put values that contain the separator last, or use a function. Values
 * of a request are text as it was sent, before pipes: `/carts/7` and `/carts/07` are two keys.
 *
 * @throws LockKeyError if a template is malformed, or contains a placeholder in the syntax of another language, which would make
 *   one key for all calls
 */
export function parseKeyTemplates(
  templates: string | readonly string[],
  root: TemplateRoot,
  place: KeyPlace,
): RenderKeys {
  if (typeof templates === 'string') return parseKeyTemplate(templates, root, place);
  const list: readonly unknown[] = Array.isArray(templates) ? templates : [];
  if (list.length === 0) {
    refuseTemplate(
      `The first argument is the lock key of ${place.name}, but it is ${described(templates)}: write a string, a list of strings, or a ` +
        `function, as in ${root.example}.`,
    );
  }
  const keys = list.map((template) => parseKeyTemplate(template, root, place));
  return (rootValue) => keys.map((key) => key(rootValue));
}

/** @throws LockKeyError if a key function made anything else than a key or a list of keys */
export function checkMadeKeys(made: unknown, place: KeyPlace): void {
  if (isKey(made) || (Array.isArray(made) && made.length > 0 && made.every(isKey))) return;
  if (made instanceof Promise) made.catch(() => undefined); // its rejection has no other handler
  throw unusable(
    `The key function of ${place.name} returned ${described(made)}. A key function returns a non-empty string, or a non-empty list of them.`,
    `its key function returned ${described(made)}`,
    place,
  );
}

/**
 * Parses `'order:<0.id>'` once, so that each call only reads values and joins strings. The renderer throws LockKeyError
 * for a value that is not a {@link KeyValue}: `undefined`, `null`, an object or `NaN` never becomes part of a key.
 *
 * There is no escape: for a key that needs `<` or `>` in its text, use a function.
 */
function parseKeyTemplate(
  template: unknown,
  root: TemplateRoot,
  place: KeyPlace,
): (rootValue: unknown) => string {
  if (typeof template !== 'string') {
    refuseTemplate(
      `A lock key in the list of ${place.name} is ${described(template)}: write each as a string, as in ['account:<0>', 'account:<1>'].`,
    );
  }
  const named = `The lock key ${JSON.stringify(template)} of ${place.name}`;
  if (template === '') refuseTemplate(`${named} is empty.`);
  // Split at placeholders: even pieces are text, odd ones the paths between the angle brackets.
  const pieces = template.split(/<([^<>]*)>/);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  if (texts.some((text) => /[<>]/.test(text))) {
    refuseTemplate(
      `${named} has an unpaired "<" or ">". A placeholder is ${root.form}; ` +
        'for a key with angle brackets in its text, use a function.',
    );
  }
  refuseForeignPlaceholder(template, root, named);
  const paths = pieces
    .filter((_, index) => index % 2 === 1)
    .map((text) => parsePlaceholder(text, root, named));
  return (rootValue) => {
    const key = paths.reduce(
      (key, path, index) => key + readValue(path, rootValue, named, place) + (texts[index + 1] ?? ''),
      texts[0] ?? '',
    );
    if (key !== '') return key;
    throw unusable(`${named} is empty with the values of this call.`, 'it is empty', place);
  };
}

/** Placeholders of other languages, which would be plain text here. A word in braces is one only if the template has no `<…>`. */
const FOREIGN = /[#$]\{[^{}]*\}|\{\{[^{}]*\}\}|\{\d+[^{}:]*\}|%[sdi](?!\w)|\$\d|\/:[A-Za-z_]\w*/;
const WORD_IN_BRACES = /^[^<]*\{[\w.]+\}[^<]*$/;

function refuseForeignPlaceholder(template: string, root: TemplateRoot, named: string): void {
  const [, parameter] = root.ofRoutes?.exec(template) ?? [];
  if (parameter !== undefined) {
    refuseTemplate(
      `${named} contains ":${parameter}", which is plain text here, so that all calls would share one lock. Write ` +
        `<params.${parameter}>; for a key with such text, use a function.`,
    );
  }
  const [found] =
    FOREIGN.exec(template) ?? (WORD_IN_BRACES.test(template) ? (/\{.*?\}/.exec(template) ?? []) : []);
  if (found === undefined) return;
  refuseTemplate(
    `${named} contains ${JSON.stringify(found)}, which is plain text here, so that all calls would share one lock. ` +
      `A placeholder is ${root.form}; for a key with such text, use a function.`,
  );
}

/** The steps of its path. */
function parsePlaceholder(text: string, root: TemplateRoot, named: string): readonly string[] {
  const path = text.split('.');
  const wellFormed = path.every((step) => /^[\w$-]+$/.test(step)) && root.firstStep.test(path[0] ?? '');
  const why = wellFormed ? root.refuse?.(path) : undefined;
  if (why !== undefined) refuseTemplate(`${named} has the placeholder <${text}>, ${why}.`);
  if (wellFormed) return path;
  refuseTemplate(
    `${named} has the placeholder <${text}>, which does not name a value. A placeholder is ${root.form}.`,
  );
}

function readValue(path: readonly string[], root: unknown, named: string, place: KeyPlace): string {
  let value = root;
  let owner: unknown;
  let steps = 0;
  while (steps < path.length && value !== undefined && value !== null) {
    owner = value;
    value = (owner as Record<string, unknown>)[path[steps] ?? ''];
    steps += 1;
  }
  if (isKeyValue(value)) return String(value);
  const text = path.join('.');
  const advice =
    value === undefined || value === null
      ? `: ${whatWasPassed(value, owner, path, steps)}. Pass a value, or correct the key: all calls without one would share a lock`
      : adviseOnValue(value, text);
  throw unusable(
    `${named} found ${described(value)}${classOf(value) ? ` (${classOf(value)})` : ''} at <${text}>${advice}.`,
    `<${text}> is ${described(value)}`,
    place,
  );
}

/** @param owner of which `value` is a property, `steps` steps along the path */
function whatWasPassed(
  value: undefined | null,
  owner: unknown,
  path: readonly string[],
  steps: number,
): string {
  const way = (steps: number): string => `<${path.slice(0, steps).join('.')}>`;
  if (steps < path.length) return `${way(steps)} is ${value}`;
  if (steps > 1)
    return `${way(steps - 1)} is ${described(owner)} ${value === null ? 'in which it is null' : 'without it'}`;
  return `the caller passed ${value === null ? 'null' : 'nothing'} there`;
}

function adviseOnValue(value: unknown, text: string): string {
  if (typeof value === 'number') return ', which identifies nothing: pass a finite number';
  const why = ', whose text does not identify it: ';
  if (value instanceof Promise) return `${why}await it before the call`;
  const name = classOf(value);
  const code = name && codeOfText(value as object);
  if (name !== undefined && code !== undefined)
    return `${why}make the key with a function, as in (value: ${name}) => \`order:\${${code}}\``;
  return `${why}name a property, as in <${text}.id>, or make the key with a function`;
}

/** The class of an object that is no plain one: `Date`, `ObjectId`. */
function classOf(value: unknown): string | undefined {
  if (!isObject(value) || Array.isArray(value) || value instanceof Promise) return undefined;
  const { constructor } = value;
  return typeof constructor === 'function' && constructor !== Object ? constructor.name : undefined;
}

/** What makes the text that identifies such an object; undefined where it has none. That of a Date depends on the time zone. */
function codeOfText(value: object): string | undefined {
  if (value instanceof Date) return 'value.toISOString()';
  return value.toString === Object.prototype.toString ? undefined : 'value.toString()';
}

/** @param why for the client, without names of the application */
function unusable(what: string, why: string, place: KeyPlace): LockKeyError {
  return place.fromRequest()
    ? new LockKeyError(what, {
        status: 400,
        message: `No usable lock key could be derived from this request: ${why}.`,
      })
    : new LockKeyError(what);
}

/** Rejects a template when its class is defined, so no client can read the message. */
function refuseTemplate(sentence: string): never {
  throw new LockKeyError(sentence, { message: sentence });
}

function isKeyValue(value: unknown): value is KeyValue {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    typeof value === 'bigint' ||
    Number.isFinite(value)
  );
}

function isKey(made: unknown): boolean {
  return typeof made === 'string' && made !== '';
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
