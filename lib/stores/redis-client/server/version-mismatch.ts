/** What a script says that found another version of the library at work on its lock, for people; undefined: it does not say so. */
export function versionMismatch(message: string): string | undefined {
  const newer = /NEWER (\d+) (\d+)/.exec(message);
  if (newer) {
    return (
      `The lock was neither taken nor changed: a newer version of the library keeps it in format ${newer[1]}, and this one reads ` +
      `formats up to ${newer[2]}. Update this application to a version that reads format ${newer[1]}; if the newer version was ` +
      'rolled back, wait until its locks are released or their keys have expired.'
    );
  }
  if (!/OLDER \d+/.test(message)) return undefined;
  return (
    'The lock was neither taken nor changed: processes with an earlier version of the library, which does not support permits or ' +
    'readers, hold it or wait for it. Update them, or use another name for the lock until they are gone.'
  );
}
