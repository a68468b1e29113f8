import { z } from 'zod';

const milliseconds = (otherwise: number) => z.coerce.number().min(0).default(otherwise);

/** What the environment may say, and what holds where it says nothing. Times are milliseconds. */
const schema = z.object({
  HOST: z.string().default('127.0.0.1'),
  /** 0: a free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(3_000),
  /** `redisson` waits in one line with services in Java; `memory` works without Redis, for one instance only. */
  STORE: z.enum(['redis', 'redisson', 'memory']).default('redis'),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).default('redis://localhost:6379'),
  /** Before every key in Redis. */
  NAMESPACE: z
    .string()
    .regex(/^[^{}]+$/)
    .default('shop'),
  /** How long the locks of a crashed instance stay locked. */
  LEASE: milliseconds(30_000),
  /** How long an instance in line may be silent before it is skipped. */
  LIVENESS_WINDOW: milliseconds(10_000),
  /** Of the store `redisson`: how long a dead instance that is the first in line stands in the way. As in Java. */
  FAIR_LOCK_WAIT_TIMEOUT: milliseconds(300_000),
  /** How long it takes to pack one article of an order. */
  PACKING_TIME: milliseconds(50),
  /** `console` prints the spans of the locks. */
  TRACES: z.enum(['off', 'console']).default('off'),
});

export type Environment = z.infer<typeof schema>;

/** For `ConfigModule`: an application with a bad environment does not start. The message never repeats a value. */
export function validateEnvironment(given: Record<string, unknown>): Environment {
  const { data, error } = schema.safeParse(given);
  if (data) return data;
  throw new Error(`The environment is invalid:\n${z.prettifyError(error)}`);
}
