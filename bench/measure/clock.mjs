/** The host's monotonic clock, ms: it compares between processes. */
export const stamp = () => Number(process.hrtime.bigint()) / 1e6;
