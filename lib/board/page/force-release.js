/** Takes a lock from its holder, after the token of the hold was typed; from one that shares it, after the number of its process. */
import { h, render } from './dom.js';
import { clientName, duration } from './text.js';

export function confirmForceRelease(base, key, holder) {
  const dialog = document.getElementById('dialog');
  const { token, heldFor, id, pid } = holder;
  const [proof, what] = id === undefined ? [token, 'fencing token'] : [pid, 'process number'];
  let answer;
  const draw = () =>
    render(
      dialog,
      h(
        'form',
        { onsubmit: submit },
        h('h2', { id: 'dialog-title' }, 'Take the lock from its holder?'),
        h(
          'p',
          null,
          h('span', { class: 'key' }, key),
          ' is held by ',
          clientName(holder),
          ` for ${duration(heldFor)}.`,
        ),
        h(
          'p',
          null,
          'The holder is told that the lock is lost, but can continue for a moment. The next in the queue is served immediately: two sections might run at the same time, and only the fencing token keeps late writes out.',
        ),
        h('label', { for: 'token' }, `Type the ${what} ${proof} to confirm`),
        h('input', { id: 'token', inputmode: 'numeric', autocomplete: 'off', required: true }),
        h('p', { class: 'answer', role: 'alert' }, answer),
        h(
          'div',
          { class: 'buttons' },
          h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'),
          h('button', { type: 'submit', class: 'danger' }, 'Force release'),
        ),
      ),
    );

  async function submit(event) {
    event.preventDefault();
    if (document.getElementById('token').value.trim() !== String(proof)) {
      answer = `This is not the ${what} ${proof}.`;
      draw();
      return;
    }
    answer = await send(base, { key, token, holder: id });
    if (answer === undefined) dialog.close();
    else draw();
  }

  render(dialog); // a new form, with nothing typed
  draw();
  dialog.showModal();
}

/** @returns what went wrong */
async function send(base, named) {
  try {
    const response = await fetch(`${base}force-release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-fair-lock-board': 'force-release' },
      body: JSON.stringify(named),
    });
    if (response.ok) return undefined;
    const { message } = await response.json().catch(() => ({}));
    return typeof message === 'string' ? message : `The server rejected it (status ${response.status}).`;
  } catch {
    return 'The server did not respond.';
  }
}
