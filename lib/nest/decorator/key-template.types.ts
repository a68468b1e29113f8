/**
 * The type-level twin of `key-template.ts`: checks the placeholders of a literal template against the parameters of the method.
 * Each check results in a `Mistake`, or in `void`.
 *
 * A parameter's type may be a type parameter of the class, which the compiler replaces by its constraint only in a conditional
 * type that begins with that type: `Value extends …`. So these checks are written that way, one member of a union at a time.
 */

import { type KeyValue } from './key-template.js';

/** What is wrong with `Template` on a method with the parameters `Args`; `void` if nothing is, or if it is not literal. */
export type TemplateProblem<
  Template extends string,
  Args extends readonly unknown[],
> = string extends Template
  ? void
  : Template extends `${infer Before}<${infer Path}>${infer After}`
    ? [Before, Path] extends [`${string}>${string}`, string] | [string, `${string}<${string}`]
      ? Mistake<Unpaired<Template>>
      : PlaceholderProblem<Path, StepsOf<Path>, Args> | TemplateProblem<After, Args>
    : Template extends `${string}${'<' | '>'}${string}`
      ? Mistake<Unpaired<Template>>
      : void;

/**
 * What is wrong with the text of `Template`, regardless of the method: a placeholder in the syntax of another language, which would
 * make one key for all calls; `never` if nothing is, or if it is not literal.
 */
export type TextProblem<Template extends string> = string extends Template
  ? never
  : Template extends `${string}${'#{' | '${' | '{{'}${string}}${string}` | `${string}{${bigint}}${string}`
    ? Mistake<ForeignPlaceholder<Template>>
    : Template extends `${string}{${infer Inner}}${string}`
      ? Inner extends '' | `${string}${':' | '<' | ' '}${string}`
        ? never
        : Template extends `${string}<${string}`
          ? never
          : Mistake<ForeignPlaceholder<Template>>
      : never;

type ForeignPlaceholder<Template extends string> =
  `the lock key "${Template}" is one key for all calls: a placeholder is <0> or <0.id>`;

type Unpaired<Template extends string> = `the lock key has an unpaired "<" or ">" in "${Template}"`;

/** The steps of a path. */
type StepsOf<Path extends string> = Path extends `${infer Step}.${infer Rest}`
  ? [Step, ...StepsOf<Rest>]
  : [Path];

type PlaceholderProblem<
  Path extends string,
  Steps extends readonly string[],
  Args extends readonly unknown[],
> = Steps extends readonly [infer Index extends `${bigint}`, ...infer Rest extends readonly string[]]
  ? ArgumentAt<Args, Index> extends infer Found
    ? Found extends { argument: infer Argument }
      ? ValueProblem<Path, Argument, Rest>
      : Found extends 'optional'
        ? Mistake<`<${Path}> in the lock key names an optional parameter, which may be undefined: use a function`>
        : Mistake<`<${Path}> in the lock key names a parameter that the method does not have`>
    : never
  : Mistake<`<${Path}> in the lock key is not <index> or <index.property>`>;

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

/** Follows the steps of `Rest` from `Value`. */
type ValueProblem<Path extends string, Value, Rest extends readonly string[]> = Rest extends readonly [
  infer Step extends string,
  ...infer Further extends readonly string[],
]
  ? StepProblem<Path, Value, Step, Further>
  : LeafProblem<Path, Value>;

/** Takes one step from `Value`. A conditional type takes both branches for `any`, so the first one has no sentence for it. */
type StepProblem<
  Path extends string,
  Value,
  Step extends string,
  Further extends readonly string[],
> = Value extends { [Name in Step]: infer Next }
  ? IsAny<Value> extends true
    ? void
    : ValueProblem<Path, Next, Further>
  : IsAny<Value> extends true
    ? Mistake<`<${Path}> in the lock key goes through a value of type any: use a function`>
    : Value extends null | undefined
      ? Mistake<`<${Path}> in the lock key goes through a value that may be null or undefined: use a function`>
      : Step extends keyof Declared<Value>
        ? ValueProblem<Path, Declared<Value>[Step], Further> // an optional property
        : Step extends keyof Value
          ? Mistake<`<${Path}> in the lock key reads "${Step}" from an index signature, which may not be there: use a function`>
          : Mistake<`<${Path}> in the lock key reads the property "${Step}", which does not exist`>;

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

type LeafProblem<Path extends string, Leaf> = Leaf extends KeyValue
  ? void
  : IsAny<Leaf> extends true
    ? Mistake<`<${Path}> in the lock key is of type any: use a function`>
    : Leaf extends null | undefined
      ? Mistake<`<${Path}> in the lock key may be null or undefined: use a function`>
      : Mistake<`<${Path}> in the lock key is not a string, number, bigint or boolean: use a function`>;

/** Whether `T` is `any`, which is assignable to everything and so passes every other check. */
type IsAny<T> = 0 extends 1 & T ? true : false;

/** What a decorator that does not fit "returns": the compiler rejects it, and prints the sentence. */
export interface Mistake<Sentence extends string> {
  readonly mistake: Sentence;
}
