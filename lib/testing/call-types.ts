/** The methods of `T`, by name. */
export type MethodName<T> = {
  [Name in keyof T]: T[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

/** The arguments of a method of `T`. */
export type ArgumentsOf<T, Name extends keyof T> = T[Name] extends (...args: infer Args) => unknown
  ? Args
  : never;

/** Calls that a test makes. */
export type Calls = readonly (() => unknown)[];

/** The results of calls, in their order. */
export type ResultsOf<All extends Calls> = {
  -readonly [Index in keyof All]: Awaited<ReturnType<All[Index]>>;
};
