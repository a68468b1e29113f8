/** Loaded into each instance: it ends when the demo has gone, however that ended. */
process.stdin.on('end', () => process.exit(1)).resume();
process.stdin.unref();
