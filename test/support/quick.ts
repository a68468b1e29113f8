/** In the gate (`--quick` of `npm run suite`), which leaves to the night what another suite proves: see test/README.md. */
export const QUICK = process.env['FAIR_LOCK_QUICK'] === 'true';
