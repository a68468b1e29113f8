/**
 * The type-level twin of `key-template.ts`: checks the placeholders of a literal template against the parameters of
 * the method. Each check results in a sentence that says what is wrong, or in `never`.
 */

import { type KeyValue } from './key-template.js';

/** What is wrong with `Template` on a method with the parameters `Args`; `never` if nothing is, or if it is not literal. */
export type TemplateProblem<
  Template extends string,
  Args extends readonly unknown[],
> = string extends Template
  ? never
  : Template extends `${infer Before}<${infer Rest}`
    ? Before extends `${string}>${string}`
      ? Unpaired<Template>
      : Rest extends `${infer Path}>${infer After}`
        ? Path extends `${string}<${string}`
          ? Unpaired<Template>
          : PlaceholderProblem<Path, Args> | TemplateProblem<After, Args>
        : Unpaired<Template>
    : Template extends `${string}>${string}`
      ? Unpaired<Template>
      : never;

/**
 * What is wrong with the text of `Template`, regardless of the method: a placeholder in the syntax of another language, which would
 * make one key for all calls; `never` if nothing is, or if it is not literal.
 */
export type TextProblem<Template extends string> = string extends Template
  ? never
  : Template extends `${string}${'#{' | '${' | '{{'}${string}}${string}` | `${string}{${bigint}}${string}`
    ? ForeignPlaceholder<Template>
    : Template extends `${string}{${infer Inner}}${string}`
      ? Inner extends '' | `${string}${':' | '<' | ' '}${string}`
        ? never
        : Template extends `${string}<${string}`
          ? never
          : ForeignPlaceholder<Template>
      : never;

type ForeignPlaceholder<Template extends string> =
  `the lock key "${Template}" is one key for all calls: a placeholder is <0> or <0.id>`;

type Unpaired<Template extends string> = `the lock key has an unpaired "<" or ">" in "${Template}"`;

type PlaceholderProblem<
  Path extends string,
  Args extends readonly unknown[],
> = Path extends `${infer Index}.${infer Rest}`
  ? ArgumentProblem<Path, Index, Args, Rest>
  : ArgumentProblem<Path, Path, Args, false>;

type ArgumentProblem<
  Path extends string,
  Index extends string,
  Args extends readonly unknown[],
  Rest extends string | false,
> = Index extends `${bigint}`
  ? ArgumentAt<Args, Index> extends infer Found
    ? Found extends { argument: infer Argument }
      ? Rest extends string
        ? StepProblem<Path, Argument, Rest>
        : LeafProblem<Path, Argument>
      : Found extends 'optional'
        ? `<${Path}> in the lock key names an optional parameter, which may be undefined: use a function`
        : `<${Path}> in the lock key names a parameter that the method does not have`
    : never
  : `<${Path}> in the lock key is not <index> or <index.property>`;

/** `{ argument }` of a required parameter, `'optional'` for an optional or rest one, else `'missing'`. */
type ArgumentAt<
  Args extends readonly unknown[],
  Index extends string,
  Before extends readonly unknown[] = [],
> = Args extends readonly []
  ? 'missing'
  : Args extends readonly [infer First, ...infer Others]
    ? `${Before['length']}` extends Index
      ? { argument: First }
      : ArgumentAt<Others, Index, [...Before, unknown]>
    : number extends Args['length']
      ? 'optional'
      : Args extends readonly [_?: unknown, ...rest: infer Others]
        ? `${Before['length']}` extends Index
          ? 'optional'
          : ArgumentAt<Others, Index, [...Before, unknown]>
        : 'missing';

/** Follows `Rest` from `Value`. */
type StepProblem<
  Path extends string,
  Value,
  Rest extends string,
> = Rest extends `${infer Step}.${infer Further}`
  ? Descend<Value, Step> extends infer Found
    ? Found extends { value: infer Next }
      ? StepProblem<Path, Next, Further>
      : DescentProblem<Path, Step, Found>
    : never
  : Descend<Value, Rest> extends infer Found
    ? Found extends { value: infer Leaf }
      ? LeafProblem<Path, Leaf>
      : DescentProblem<Path, Rest, Found>
    : never;

/** `{ value }` of a declared, required property; else why there is none. */
type Descend<Value, Step extends string> =
  IsAny<Value> extends true
    ? 'any'
    : MayBeNullish<Value> extends true
      ? 'nullable'
      : Step extends keyof Declared<Value>
        ? { value: Declared<Value>[Step] }
        : Step extends keyof Value
          ? 'index signature'
          : 'missing';

/** Without `strictNullChecks` every type includes `null` and `undefined`, so the check is skipped. */
type MayBeNullish<Value> = null extends string
  ? false
  : null extends Value
    ? true
    : undefined extends Value
      ? true
      : false;

/** Removes index signatures, which promise a value even for names that do not exist. */
type Declared<Value> = {
  [
    Key in keyof Value as string extends Key
      ? never
      : number extends Key
        ? never
        : symbol extends Key
          ? never
          : Key
  ]: Value[Key];
};

type DescentProblem<Path extends string, Step extends string, Why> = Why extends 'any'
  ? `<${Path}> in the lock key goes through a value of type any: use a function`
  : Why extends 'nullable'
    ? `<${Path}> in the lock key goes through a value that may be null or undefined: use a function`
    : Why extends 'index signature'
      ? `<${Path}> in the lock key reads "${Step}" from an index signature, which may not be there: use a function`
      : `<${Path}> in the lock key reads the property "${Step}", which does not exist`;

type LeafProblem<Path extends string, Leaf> =
  IsAny<Leaf> extends true
    ? `<${Path}> in the lock key is of type any: use a function`
    : [Leaf] extends [KeyValue]
      ? never
      : [Leaf] extends [KeyValue | null | undefined]
        ? `<${Path}> in the lock key may be null or undefined: use a function`
        : `<${Path}> in the lock key is not a string, number, bigint or boolean: use a function`;

/** Whether `T` is `any`, which is assignable to everything and so passes every other check. */
export type IsAny<T> = 0 extends 1 & T ? true : false;
