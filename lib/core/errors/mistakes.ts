/** Sections of the packed pages that errors lead to, by heading, with their pages. */
export const SECTIONS = {
  'The module without forRoot': 'errors',
  'Two registrations without a name': 'errors',
  'A synchronous method': 'errors',
  'A stream that is not declared': 'errors',
  'A value that makes no key': 'errors',
  'A static method, an accessor or a class': 'errors',
  'Decorators of the ECMAScript standard': 'errors',
  'A method called on an object that Nest did not create': 'errors',
  'An override without a decorator': 'errors',
  'An unhandled rejection': 'errors',
  'A hold used after its end': 'errors',
  'Options of the module': 'configuration',
  'Options of a call': 'configuration',
  Errors: 'errors',
  'The board': 'observability',
  lead: 'service',
} as const;

/** The end of a message that tells where to read on: a path below `node_modules`. */
export function see(heading: keyof typeof SECTIONS): string {
  const anchor = heading.toLowerCase().replaceAll(',', '').replaceAll(' ', '-');
  return ` See nestjs-fair-lock/docs/${SECTIONS[heading]}.md#${anchor}.`;
}

/** `sentence` with a place to read on, if it names none yet. */
export function withPlace(sentence: string): string {
  return /\.md#[a-z-]+\.$/.test(sentence) ? sentence : sentence + see('Errors');
}
