import type { Checker } from '../checker/checker.js';
import type { ServerBreak } from '../checker/excuses.js';
import type { Random } from '../world/random.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import { ERRORS, type Fault } from './faults.js';
import { injectReplicaFault } from './replica-faults.js';
import type { SimClient } from './sim-client.js';

/** What a fault can touch. */
export interface FaultTargets {
  readonly world: World;
  readonly server: SimServer;
  readonly random: Random;
  readonly checker: Checker;
  client(index: number): SimClient | undefined;
  clients(): readonly SimClient[];
  nameOf(lock: number): string;
  /** The data as they were about `age` ms ago. */
  dataOf(age: number): ReturnType<SimServer['redis']['keys']['snapshot']>;
  kill(client: SimClient, serverHears: boolean): void;
  shutDown(client: SimClient): void;
  forceRelease(client: SimClient, name: string): void;
}

/** Makes the fault happen now. Returns what ends it, for what lasts. */
export function inject(fault: Fault, targets: FaultTargets): (() => void) | undefined {
  const { world, server, random, checker } = targets;
  const { excuses } = checker;
  const client = targets.client(fault.client);
  const name = targets.nameOf(fault.lock);
  const broke = (kind: ServerBreak['kind'], of?: string): unknown =>
    excuses.breaks.push({ kind, at: world.now, lock: of });

  switch (fault.kind) {
    case 'cut':
      if (fault.role !== 'subscriber') client?.redis.get('commands')?.connection?.cut(fault.flag);
      if (fault.role !== 'commands') client?.redis.get('subscriber')?.connection?.cut(fault.flag);
      if (fault.role === 'both') client?.redis.get('replication')?.connection?.cut(fault.flag);
      return undefined;
    case 'cut-subscribers':
      for (const { redis } of targets.clients()) redis.get('subscriber')?.connection?.cut(false);
      return undefined;
    case 'partition': {
      const lanes = client?.lanes(fault.role, fault.direction) ?? [];
      for (const lane of lanes) lane.block();
      return () => lanes.forEach((lane) => lane.unblock());
    }
    case 'delay': {
      const lanes = client?.lanes(fault.role, fault.direction) ?? [];
      for (const lane of lanes) lane.high += fault.amount;
      return () => lanes.forEach((lane) => (lane.high -= fault.amount));
    }
    case 'mute': {
      // Of one client or of all.
      const deaf = fault.flag ? undefined : client?.process.name;
      const before = server.messageLoss;
      server.messageLoss = (name) => (deaf === undefined || deaf === name ? fault.amount : before(name));
      return () => (server.messageLoss = before);
    }
    case 'duplicate':
      server.duplicates += fault.amount;
      return () => (server.duplicates -= fault.amount);
    case 'refuse': {
      const weathers = client ? Object.values(client.weather) : [];
      for (const weather of weathers) weather.refused = fault.direction === 'both' ? 'after accepting' : true;
      if (fault.flag) client?.redis.get('commands')?.connection?.cut(false);
      return () => weathers.forEach((weather) => (weather.refused = false));
    }
    case 'refuse-subscribe':
      if (fault.flag) server.unansweredSubscriptions += 1;
      else server.refusedSubscriptions += 1;
      client?.redis.get('subscriber')?.connection?.cut(false);
      return () => (server.refusedSubscriptions = server.unansweredSubscriptions = 0);
    case 'errors':
      server.error = ERRORS[fault.amount];
      return () => (server.error = undefined);
    case 'pause':
      if (!client || client.process.paused || !client.process.alive) return undefined;
      client.process.pause();
      return () => client.process.resume(random);
    case 'suspend': {
      if (!client || client.process.paused || !client.process.alive) return undefined;
      const { process } = client;
      let isOver = false;
      process.pause();
      // What arrives before the clock stands still lies unread, too.
      world.schedule(Math.min(fault.amount, fault.duration / 2), () => isOver || process.suspend());
      return () => {
        isOver = true;
        process.resume(random);
      };
    }
    case 'kill':
      if (client?.process.alive) targets.kill(client, !fault.flag);
      return undefined;
    case 'shutdown':
      if (client?.process.alive && !client.closed) targets.shutDown(client);
      return undefined;
    case 'stall':
      if (server.away) return undefined;
      server.stall();
      return () => server.goOn();
    case 'crash':
    case 'restart-empty':
    case 'rollback': {
      if (server.away) return undefined;
      if (fault.kind === 'crash' && fault.flag) return crashWithGrant(targets);
      const data =
        fault.kind === 'restart-empty'
          ? undefined
          : targets.dataOf(fault.kind === 'crash' ? 0 : fault.amount);
      server.die();
      return () => {
        server.revive(data);
        if (fault.kind !== 'crash') broke('data-lost');
        checker.dataReplaced();
      };
    }
    case 'frozen-primary': {
      if (server.away) return undefined;
      const thaw = server.failOver(excuses.commandTimeout);
      return () => {
        thaw();
        // A client that stands still has not given up what it sent to the old primary, and enters a grant that the new one does not know.
        if (targets.clients().some(({ process }) => process.paused)) broke('failed-over');
      };
    }
    case 'failover':
    case 'split':
    case 'replica-stall':
      return injectReplicaFault(fault, targets);
    case 'flush':
      if (server.down) return undefined;
      server.redis.execute('FLUSHALL', []);
      checker.dataReplaced();
      broke('data-lost');
      return undefined;
    case 'evict': {
      if (server.down || !client) return undefined;
      const lock = client.keyOf(name);
      const suffix = ['', ':queue', ':clients'][fault.amount] ?? '';
      server.redis.execute('DEL', [`${lock}${suffix}`]);
      checker.dataReplaced();
      broke(suffix === '' ? 'data-lost' : 'line-lost', lock);
      return undefined;
    }
    case 'script-flush':
      server.redis.flushScripts(() => fault.flag && random.chance(0.5));
      return undefined;
    case 'stopped-script':
      server.redis.stopAt = fault.amount;
      return undefined;
    case 'memory-full':
      server.redis.memoryFull = true;
      return () => (server.redis.memoryFull = false);
    case 'server-step':
      server.stepClock(fault.amount);
      excuses.stepped += Math.abs(fault.amount);
      broke(fault.amount > 0 ? 'clock-forward' : 'clock-back');
      return undefined;
    case 'wall-step':
      if (client) client.lastWallStep = world.now;
      if (client && fault.amount < 0) client.lastSetBack = world.now;
      client?.process.stepWallClock(fault.amount);
      return undefined;
    case 'force-release':
      if (client?.process.alive && !client.process.paused && !client.closed)
        targets.forceRelease(client, name);
      return undefined;
  }
}

/** The server dies when it next grants a lock to a request in line, and nobody learns of that grant. */
function crashWithGrant({ server, checker, dataOf }: FaultTargets): () => void {
  let data: ReturnType<typeof dataOf> | undefined;
  server.onGrant = (): void => {
    server.onGrant = undefined;
    data = dataOf(0);
    server.die();
  };
  return () => {
    if (!data) {
      server.onGrant = undefined;
      return;
    }
    server.revive(data);
    checker.dataReplaced();
  };
}
