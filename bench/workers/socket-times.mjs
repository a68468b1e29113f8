import { Socket } from 'node:net';

/** When the process last began and ended a write to a socket, and last got something from one, ms of the host's clock. */
export class SocketTimes {
  writeBegan = 0;
  writeEnded = 0;
  received = 0;

  /** @param {() => number} stamp */
  constructor(stamp) {
    const times = this;
    const { write, push, emit } = Socket.prototype;
    let pushed = false;
    Socket.prototype.write = function (...args) {
      times.writeBegan = stamp();
      const more = write.apply(this, args);
      times.writeEnded = stamp();
      return more;
    };
    Socket.prototype.push = function (...args) {
      times.received = stamp();
      pushed = true;
      return push.apply(this, args);
    };
    // Nothing is pushed into a socket that reads into a buffer of its own (`onread`): its owner hands the data on.
    Socket.prototype.emit = function (event, ...args) {
      if (event === 'data') {
        if (!pushed) times.received = stamp();
        pushed = false;
      }
      return emit.call(this, event, ...args);
    };
  }
}
