/** Whether a change of the code was noticed. */
export interface Verdict {
  readonly killed: boolean;
  /** The seed or the test. */
  readonly where: string;
  /** The violation or the failed assertion. */
  readonly how: string;
}
