export {
  FairLockTestingModule,
  type FairLockTestingOptions,
  getFairLockProbeToken,
  type ProviderOverrides,
} from './fair-lock-testing.module.js';
export { FairLockProbe } from './fair-lock-probe.js';
export { type ProbeHold } from './probe-hold.js';
export { type ArgumentsOf, type MethodName, type ResultsOf } from './call-types.js';
export { type WithinOptions } from './patience.js';
