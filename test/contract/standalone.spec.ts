import { describeLockStore } from './lock-store.contract.js';
import { capabilities, standaloneLine } from './standalone.line.js';

describeLockStore('standalone', standaloneLine(), capabilities);
