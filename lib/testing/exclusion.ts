import { Held } from '../core/port/admission.js';
import { quote } from '../core/errors/text.js';
import { fail } from './patience.js';
import { type Waiting } from './probed-store.js';

/** @throws AssertionError if one of the requests in the queue would share the lock */
export function requireUnshared(key: string, line: readonly Waiting[]): void {
  if (!line.some(({ share }) => share)) return;
  fail(
    `The calls share the lock ${quote(key)} (permits, or mode: 'read'), so they do not exclude each other. ` +
      'assertAtMost shows how many run at a time.',
  );
}

/** @throws AssertionError if one of `all` could hold the lock at the same time as another one that writes */
export function requireExclusion(key: string, writers: readonly Waiting[], all: readonly Waiting[]): void {
  for (const writer of writers) {
    const other = all.find((each) => each !== writer && (joins(each, writer) || joins(writer, each)));
    if (!other) continue;
    fail(
      `A call of ${nameOf(other)} and one of ${nameOf(writer)}, a writer, can hold the lock ${quote(key)} at the same time. ` +
        "A writer excludes others if it asks for the key without mode: 'read', or with so much weight that no other fits alongside it.",
    );
  }
}

/** Whether `head` gets the lock while `holder` has it. */
function joins(holder: Waiting, head: Waiting): boolean {
  const held = new Held();
  held.add(holder.share);
  return held.admits(head.share);
}

function nameOf({ label }: Waiting): string {
  return label === '' ? 'a call without a label' : label;
}
