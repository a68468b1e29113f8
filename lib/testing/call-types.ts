/** The methods of `T`, by name. */
export type MethodName<T> = {
  [Name in keyof T]: T[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

/** The arguments of a method of `T`. */
export type ArgumentsOf<T, Name extends keyof T> = T[Name] extends (...args: infer Args) => unknown
  ? Args
  : never;

/** The results of calls, in their order. */
export type ResultsOf<Calls extends readonly (() => unknown)[]> = {
  -readonly [Index in keyof Calls]: Awaited<ReturnType<Calls[Index]>>;
};
