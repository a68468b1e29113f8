import { describeSuite } from '../docs/describe-suite.js';

describeSuite('recipes');
