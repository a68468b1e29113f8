/** Warns that the server's clock was set by `step` ms (negative: back), if that matters to a lease. */
export function warnOfClockStep(
  step: number,
  { lease, onWarning }: { readonly lease: number; readonly onWarning: (message: string) => void },
): void {
  if (Math.abs(step) < lease / 10) return;
  onWarning(
    `The clock of Redis stepped by about ${Math.round(step)} ms. Leases are measured by it: a step forward ends them ` +
      'early (holders are notified), a step back makes a crashed holder block for longer. Let NTP slew the clock instead.',
  );
}
