import { LockKeyError } from '../core/errors.js';

/** What a placeholder may stand for: the only values whose text is the same in every process. */
export type KeyValue = string | number | bigint | boolean;

/** Where the paths of a template begin. */
export interface TemplateRoot {
  /** Which first steps exist. */
  readonly firstStep: RegExp;
  /** The form of a placeholder, for messages. */
  readonly form: string;
}

/** The arguments of a method: `<0>`, `<0.id>`. */
export const METHOD_ARGUMENTS: TemplateRoot = {
  firstStep: /^(?:0|[1-9]\d*)$/,
  form: '<index> or <index.property>, as in <0> or <0.id>',
};

/** An HTTP request: `<params.id>`, `<headers.x-tenant>`. */
export const HTTP_REQUEST: TemplateRoot = {
  firstStep: /^[A-Za-z_$][\w$]*$/,
  form: '<property.property>, as in <params.id>',
};

/** Makes the key, or keys, of one call; `root` is what the paths of the templates begin at. */
export type RenderKeys = (root: unknown) => string | readonly string[];

interface Placeholder {
  readonly text: string;
  readonly path: readonly string[];
}

/**
 * Parses one template, or a list of them.
 *
 * @param where the decorated place, for messages: `OrdersService.pay`
 */
export function parseKeyTemplates(
  templates: string | readonly string[],
  root: TemplateRoot,
  where: string,
): RenderKeys {
  if (typeof templates === 'string') return parseKeyTemplate(templates, root, where);
  const list: readonly unknown[] = Array.isArray(templates) ? templates : [];
  if (list.length === 0) {
    throw new LockKeyError(`The lock key of ${where} must be a string, or a list of at least one string.`);
  }
  const keys = list.map((template) => parseKeyTemplate(template, root, where));
  return (rootValue) => keys.map((key) => key(rootValue));
}

/**
 * What a key function made, if it is a key or a list of keys.
 *
 * @throws LockKeyError if it is anything else
 */
export function checkMadeKeys(made: unknown, where: string): string | readonly string[] {
  if (typeof made === 'string') return made;
  if (Array.isArray(made) && made.every((key) => typeof key === 'string')) return made;
  throw new LockKeyError(
    `The key function of ${where} made ${describe(made)}. A key function returns a string, or a list of strings.`,
  );
}

/**
 * Parses `'order:<0.id>'` once, so that each call only reads values and joins strings.
 *
 * There is no escape: a key that needs `<` or `>` in its text is made by a function.
 *
 * @throws LockKeyError if the template is malformed; the renderer throws it for a value that is no {@link KeyValue}:
 *   `undefined`, `null`, an object or `NaN` never becomes part of a key
 */
function parseKeyTemplate(
  template: unknown,
  root: TemplateRoot,
  where: string,
): (rootValue: unknown) => string {
  if (typeof template !== 'string') {
    throw new LockKeyError(`The lock key of ${where} is ${describe(template)}; a key is a string.`);
  }
  // Split at placeholders: even pieces are text, odd ones the paths between the angle brackets.
  const pieces = template.split(/<([^<>]*)>/);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  if (texts.some((text) => /[<>]/.test(text))) {
    throw new LockKeyError(
      `The lock key ${JSON.stringify(template)} of ${where} has an unpaired "<" or ">". A placeholder is ${root.form}; ` +
        'a key with angle brackets in its text can be made by a function.',
    );
  }
  const placeholders = pieces
    .filter((_, index) => index % 2 === 1)
    .map((path) => parsePlaceholder(path, template, root, where));
  return (rootValue) =>
    placeholders.reduce(
      (key, placeholder, index) =>
        key + readValue(placeholder, rootValue, template, where) + (texts[index + 1] ?? ''),
      texts[0] ?? '',
    );
}

function parsePlaceholder(text: string, template: string, root: TemplateRoot, where: string): Placeholder {
  const path = text.split('.');
  const wellFormed = path.every((step) => /^[\w$-]+$/.test(step)) && root.firstStep.test(path[0] ?? '');
  if (wellFormed) return { text, path };
  throw new LockKeyError(
    `The lock key ${JSON.stringify(template)} of ${where} has the placeholder <${text}>, which names nothing. ` +
      `A placeholder is ${root.form}.`,
  );
}

function readValue({ text, path }: Placeholder, root: unknown, template: string, where: string): string {
  let value = root;
  for (const step of path) {
    if (value === undefined || value === null) break;
    value = (value as Record<string, unknown>)[step];
  }
  if (isKeyValue(value)) return String(value);
  throw new LockKeyError(
    `The lock key ${JSON.stringify(template)} of ${where} found ${describe(value)} at <${text}>. ` +
      'A key is made of strings, finite numbers, bigints and booleans only.',
  );
}

function isKeyValue(value: unknown): value is KeyValue {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    typeof value === 'bigint' ||
    Number.isFinite(value)
  );
}

/** The kind of a refused value; never its contents, which may be private. */
function describe(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Promise) return 'a promise';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
