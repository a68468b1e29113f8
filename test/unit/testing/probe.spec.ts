import { jest } from '@jest/globals';
import { describeProbe } from './probe.behaviour.js';

describe('The testing kit, with jest', () => describeProbe(jest));
