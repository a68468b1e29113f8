export default async function teardown() {
  await Promise.all(globalThis.fairLockRecipes.map((server) => server.stop()));
}
