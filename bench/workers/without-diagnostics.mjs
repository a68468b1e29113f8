/** A loader hook that puts empty functions in the place of the library's diagnostics, to measure what they cost. */
const EMPTY = `
  const nothing = () => undefined;
  export const [emit, beginWait, endWait, newHold, beginHold, endHold] = Array(6).fill(nothing);
  export const [waitChannel, holdChannel, eventChannel] = Array(3).fill({ hasSubscribers: false });
  export const runInHold = (hold, code) => code();
`;

export async function load(url, context, next) {
  if (!url.endsWith('/dist/esm/core/diagnostics/diagnostics.js')) return next(url, context);
  return { format: 'module', source: EMPTY, shortCircuit: true };
}
