export { FairLockHealthIndicator } from './fair-lock-health.indicator.js';
export { FairLockTerminusModule } from './fair-lock-terminus.module.js';
