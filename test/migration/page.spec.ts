import { describeSuite } from '../docs/describe-suite.js';

describe('The migration page', () => describeSuite('migration'));
