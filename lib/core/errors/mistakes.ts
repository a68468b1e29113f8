/** Mistakes that have a section of the page "Mistakes and their errors" (docs/errors.md), by its heading. */
export type Mistake =
  | 'The module without forRoot'
  | 'Two registrations without a name'
  | 'A synchronous method'
  | 'A stream that is not declared'
  | 'A value that makes no key'
  | 'A static method, an accessor or a class'
  | 'Decorators of the ECMAScript standard'
  | 'A method called on an object that Nest did not make'
  | 'A hold used after its end';

/** The end of a message that tells where to read on. */
export function see(mistake: Mistake): string {
  return ` See "${mistake}" in "Mistakes and their errors".`;
}
