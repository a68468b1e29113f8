import { Redis } from 'ioredis';
import { startRedisServer } from '../support/redis.js';
import { manyLocks } from './scale/many-locks.js';
import { manyProcesses } from './scale/many-processes.js';
import { oneLine } from './scale/one-line.js';
import { Scene, type SceneOptions } from './scale/scene.js';
import { Totals } from './totals.js';

/** What came of a scale: what a campaign tells, and what was measured. */
export class ScaleRun {
  readonly measured: Record<string, unknown> = {};
  /** Bounds, told by sentences. */
  readonly missed: string[] = [];

  constructor(readonly totals: Totals) {}

  get ok(): boolean {
    return this.totals.ok && this.missed.length === 0;
  }

  /** The closing line. */
  toJSON(): object {
    return { ...this.totals.toJSON(), scale: { ...this.measured, missed: this.missed } };
  }
}

/** Many waiters, many locks, many processes, on one server and without faults: what each costs must not grow with them. */
export async function runScale(seed: number): Promise<ScaleRun> {
  const scale = new ScaleRun(new Totals(seed));
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  const play = async <Figures>(
    name: string,
    scene: (scene: Scene) => Promise<Figures>,
    options: SceneOptions = {},
  ): Promise<void> => {
    scale.measured[name] = await Scene.play({ name, server, admin, ...scale }, scene, options);
  };
  try {
    await play('20,000 waiters on one lock', oneLine);
    await play('10,000 locks held by one process', manyLocks, { lease: 10_000 });
    await play('200 processes', manyProcesses);
    return scale;
  } finally {
    admin.disconnect();
    await server.stop();
  }
}
