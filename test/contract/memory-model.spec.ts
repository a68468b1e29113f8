import { capabilities, memoryLine } from './memory.line.js';
import { describeModel } from './model.contract.js';

describeModel('memory', [memoryLine, memoryLine, memoryLine], capabilities, 300);
