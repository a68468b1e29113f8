import { NestFactory } from '@nestjs/core';
import { Journal } from './journal.js';
import { WorkerModule } from './worker.module.js';

const app = await NestFactory.createApplicationContext(WorkerModule);
// On SIGTERM, a job that waits for a lock leaves the line and is tried again by another worker.
app.enableShutdownHooks();
app.get(Journal).note('worker open', { pid: process.pid });
