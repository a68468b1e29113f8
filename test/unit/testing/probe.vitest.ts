import { describe, vi } from 'vitest';
import { describeProbe } from './probe.behaviour.js';

describe('The testing kit, with vitest', () => describeProbe(vi));
