export {
  FairLockTestingModule,
  type FairLockTestingOptions,
  getFairLockProbeToken,
  type ProviderOverrides,
} from './fair-lock-testing.module.js';
export { FairLockProbe, type ProbeHold } from './fair-lock-probe.js';
export { type ArgumentsOf, type MethodName, type ResultsOf } from './call-types.js';
export { type WithinOptions } from './patience.js';
