import { describeSuite } from './describe-suite.js';

describeSuite('docs');
