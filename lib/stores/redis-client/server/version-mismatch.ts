/** What a script says that found another version of the library at work on its lock, for people; undefined: it does not say so. */
export function versionMismatch(message: string): string | undefined {
  const [, found, own] = /FORMAT (\d+) (\d+)/.exec(message) ?? [];
  if (found === undefined) return undefined;
  return (
    `The lock was neither taken nor changed: another version of the library keeps it in format ${found}, and this one uses ` +
    `format ${own}. Let all processes run the same version, or give one of them another keyPrefix; if the other version is ` +
    'gone, wait until its locks are released or their keys have expired.'
  );
}
