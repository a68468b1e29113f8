export {
  FairLockTestingModule,
  type FairLockTestingOptions,
  getFairLockProbeToken,
  type ProviderOverrides,
} from './fair-lock-testing.module.js';
export {
  type ArgumentsOf,
  FairLockProbe,
  type MethodName,
  type ProbeHold,
  type ResultsOf,
} from './fair-lock-probe.js';
export { type WithinOptions } from './patience.js';
