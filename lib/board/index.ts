export { FairLockBoardModule } from './fair-lock-board.module.js';
export type { FairLockBoardOptions } from './board.options.js';
