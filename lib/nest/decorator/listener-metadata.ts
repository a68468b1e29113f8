import 'reflect-metadata';

/*
 * The one file that names metadata of other packages: of the methods that they call on an event or at a time. No public way tells these
 * methods, short of loading each of the packages, which an application may not have, at every start. The keys are the same in all versions
 * for Nest 11 and 12. test/nest/listeners.spec.ts reads them from the decorators of the packages, except for `@nestjs/bull`, which is not
 * installed here: that of its 12.0 was read by hand.
 */

/** `@OnWorkerEvent` and `@OnQueueEvent` of @nestjs/bullmq, and `@OnQueueEvent` of @nestjs/bull with its short forms. */
const QUEUE_EVENTS = [
  'bullmq:worker_events_metadata',
  'bullmq:queue_events_metadata',
  'bull:module_on_queue_event',
];

/** `@OnEvent` of @nestjs/event-emitter: the list of the events of a method. */
const ON_EVENT = 'EVENT_LISTENER_METADATA';

/** `@Cron`, `@Interval` and `@Timeout` of @nestjs/schedule. */
const SCHEDULE = [
  'SCHEDULE_CRON_OPTIONS',
  'SCHEDULE_INTERVAL_OPTIONS',
  'SCHEDULE_TIMEOUT_OPTIONS',
  'SCHEDULER_NAME',
  'SCHEDULER_TYPE',
];

const ALL = new Set<unknown>([...QUEUE_EVENTS, ON_EVENT, ...SCHEDULE]);

/** Whether a metadata key of a method is one of these, so that it makes no handler of requests. */
export function isOfListeners(key: unknown): boolean {
  return ALL.has(key);
}

interface OnEvent {
  readonly options?: { readonly suppressErrors?: boolean };
}

/**
 * Whether the package that calls this method lets its rejection end the process. Those of queues do. `@nestjs/event-emitter` logs it,
 * unless it is told not to; `@nestjs/schedule` always does.
 */
export function isUncaught(method: object): boolean {
  if (QUEUE_EVENTS.some((key) => Reflect.hasMetadata(key, method))) return true;
  const events = Reflect.getMetadata(ON_EVENT, method) as readonly OnEvent[] | undefined;
  return events?.some(({ options }) => options?.suppressErrors === false) ?? false;
}
