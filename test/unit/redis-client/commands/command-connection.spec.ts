import { CommandConnection } from '../../../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../../../lib/stores/redis-client/connection/redis-source.js';
import { within } from '../../../support/waiting.js';

describe('a connection that is not there', () => {
  test('does not keep a process alive in which a release of a lease of days waits for it', async () => {
    const connection = new CommandConnection(openConnection('redis://127.0.0.1:1', 'commands'), 1_000);
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    void connection.whenReady(3 * 86_400_000);
    const waiting = timers();
    await connection.close(1_000);
    expect(waiting).toBe(before);
  });

  test('is closed immediately between two attempts to connect when nothing is left to wait for', async () => {
    // This process may have sockets of earlier tests.
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = sockets();
    const opened = openConnection('redis://127.0.0.1:1', 'commands');
    const connection = new CommandConnection(opened, 10_000);
    connection.connect();
    const { client } = opened;
    await new Promise<void>((resolve) => {
      // The first attempts follow each other without a pause.
      client.on('reconnecting', (delay: number) => delay > 100 && resolve());
    });
    expect(client.status).toBe('reconnecting');
    await within(connection.close(10_000), 5_000, 'the close');
    expect(sockets()).toBeLessThanOrEqual(before);
  });
});
