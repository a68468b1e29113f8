/** The redis-server that a test runs: a program of this machine or, where there is none, one in a container. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { presentServer, redisServerBinary } from './redis-binary.mjs';

const IMAGE = 'redis:7.2-alpine';

let found;

/** One that is here, else a container, else one that is installed now. */
export function redisProgram() {
  found ??= find();
  return found;
}

async function find() {
  const present = presentServer();
  if (present !== undefined) return programOf(present);
  return (await container()) ?? programOf(await redisServerBinary());
}

/** `run` starts it with these arguments; what it prints goes to `log`. What `run` returns can be sent signals until it has `exited`. */
export function programOf(binary) {
  const run = (args, log) => {
    const file = openSync(log, 'w');
    const child = spawn(binary, args, { stdio: ['ignore', file, file] });
    closeSync(file);
    const exited = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
    return { pid: child.pid, exited, kill: (signal) => child.kill(signal) };
  };
  return { name: binary, run };
}

/** Undefined where no container engine answers or it has no image. The container shares the user, the network and the folder of `log` with this machine. */
async function container() {
  if (process.platform !== 'linux') return undefined; // elsewhere the network is that of a virtual machine
  const { GenericContainer, ImageName, getContainerRuntimeClient } = await import('testcontainers');
  const engine = await getContainerRuntimeClient().catch(() => undefined);
  try {
    await engine?.image.pull(ImageName.fromString(IMAGE), { force: false, platform: undefined });
  } catch (error) {
    console.warn(`A container engine answers, but has no ${IMAGE} (${error.message}); looking further.`);
    return undefined;
  }
  if (engine === undefined) return undefined;

  const run = async (args, log) => {
    const started = await new GenericContainer(IMAGE)
      .withNetworkMode('host') // as a program of this machine: on loopback, and servers find each other
      .withUser(`${process.getuid()}:${process.getgid()}`)
      .withBindMounts([{ source: dirname(log), target: dirname(log) }])
      .withEntrypoint(['sh', '-c', 'exec redis-server "$@" >"$0" 2>&1', log])
      .withCommand(args)
      .start();
    const handle = engine.container.getById(started.getId());
    const exited = handle.wait().then(() => handle.remove());
    return { exited, kill: (signal) => handle.kill({ signal }) };
  };
  return { name: `container ${IMAGE}`, run };
}
