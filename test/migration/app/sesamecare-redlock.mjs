import { Redlock } from '@sesamecare-oss/redlock';
import { applicationsOf } from './redlock.mjs';

export const { before, both } = applicationsOf(Redlock);
