/** The stream of events from the server, opened again whenever it ends. */

const RETRY = 1_000;

/**
 * @param base what leads from the page to its files
 * @param hear called with the name of an event and its data; `open`, `lost` and `refused` are of the connection
 * @returns a function that opens the stream for one key, or for none
 */
export function connect(base, hear) {
  let source;
  let timer;
  let refused = false;

  function open(key) {
    clearTimeout(timer);
    source?.close();
    const mine = new EventSource(
      `${base}events${key === undefined ? '' : `?key=${encodeURIComponent(key)}`}`,
    );
    source = mine;
    mine.onopen = () => {
      refused = false;
      hear('open');
    };
    for (const event of ['history', 'overview', 'line', 'trouble'])
      mine.addEventListener(event, ({ data }) => mine === source && hear(event, JSON.parse(data)));
    mine.onerror = () => {
      if (mine !== source) return;
      if (!refused) hear('lost');
      // It tries again by itself after a broken connection, but not after an answer that is no stream.
      if (mine.readyState === EventSource.CLOSED) timer = setTimeout(() => again(key), RETRY);
    };
  }

  /** An EventSource does not tell why it was refused. */
  async function again(key) {
    const status = await fetch(`${base}board.css`, { cache: 'no-store' }).then(
      (response) => response.status,
      () => undefined,
    );
    refused = status === 401 || status === 403;
    if (refused) hear('refused');
    open(key);
  }

  return open;
}
