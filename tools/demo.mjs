/**
 * The lock at work: `npm run demo`. Three processes of the sample app, sixty orders for one product in a known order,
 * and one of the processes is killed while it holds the lock. `npm run demo -- --json` ends with the figures in JSON.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { EventLog, hostTime } from './demo/event-log.mjs';
import { count, Screen, seconds } from './demo/screen.mjs';
import { ShopInstance } from './demo/shop-instance.mjs';
import { findStore } from './demo/store.mjs';
import { judge } from './demo/verdict.mjs';

const ORDERS = 60;
const STOCK = 40;
const PRODUCT = 'record-player';

/** The one that is being served when its instance is killed: it takes long, so that there is time for it. */
const BIG_ORDER = 20;
const BIG_QUANTITY = 20;

/** Short ones, in ms, so that the recovery can be watched. */
const LEASE = 3_000;
const LIVENESS_WINDOW = 2_000;
const PACKING_TIME = 75;

/** From the opening of the shop to the summary, in ms: several times what it takes. */
const TIME_LIMIT = 120_000;
