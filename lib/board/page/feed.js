/** The stream of events from the server, opened again whenever it ends. */

const RETRY = 1_000;

/**
 * @param base what leads from the page to its files
 * @param onEvent called with the name of an event and its data; `open`, `lost` and `refused` are of the connection
 * @returns a function that opens the stream for one key, or for none
 */
export function connect(base, onEvent) {
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
      onEvent('open');
    };
    for (const event of ['history', 'overview', 'line', 'trouble'])
      mine.addEventListener(event, ({ data }) => mine === source && onEvent(event, JSON.parse(data)));
    mine.addEventListener('again', () => mine === source && open(key));
    mine.onerror = () => {
      if (mine !== source) return;
      if (!refused) onEvent('lost');
      // It reconnects after a broken connection, but not after a response that is not a stream.
      if (mine.readyState === EventSource.CLOSED) timer = setTimeout(() => again(key), RETRY);
    };
  }

  /** An EventSource does not give the reason of a rejection. */
  async function again(key) {
    const status = await fetch(`${base}board.css`, { cache: 'no-store' }).then(
      (response) => response.status,
      () => undefined,
    );
    refused = status === 401 || status === 403;
    if (refused) onEvent('refused');
    open(key);
  }

  return open;
}
