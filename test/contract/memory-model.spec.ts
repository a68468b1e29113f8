import { capabilities, memoryLine } from './memory.line.js';
import { describeModel } from './model.contract.js';
import { describeSections } from './sections.contract.js';

describeModel('memory', [memoryLine, memoryLine, memoryLine], capabilities, 300);
describeSections('memory', memoryLine, capabilities, 200);
