import { describeSuite } from '../docs/describe-suite.js';

describeSuite('migration');
