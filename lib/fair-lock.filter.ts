import { STATUS_CODES, type ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { FairLockError, type FairLockErrorCode } from './core/errors.js';
