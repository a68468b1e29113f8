/** The command that lists the locks of the shop, for another terminal in this folder. */
export function commandLine({ REDIS_URL, NAMESPACE }) {
  const { username, password } = new URL(REDIS_URL);
  // A password is not printed: the command reads it from REDIS_URL, too.
  const redis = username === '' && password === '' ? ` --redis ${REDIS_URL}` : '';
  return `npx nestjs-fair-lock ls${redis} --prefix ${NAMESPACE}:lock`;
}
