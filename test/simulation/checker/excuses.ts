import { safetyMargin } from '../../../lib/stores/redis-connection/safety-margin.js';
