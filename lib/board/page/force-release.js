/** Takes a lock from its holder, after the token of the hold was typed. */
import { h, render } from './dom.js';
import { clientName, duration } from './text.js';

export function confirmForceRelease(base, key, holder) {
  const dialog = document.getElementById('dialog');
  const { token, heldFor } = holder;
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
          'The holder gets the news that the lock is lost, but may go on for a moment. The next in line is served at once: two sections may run at the same time, and only the fencing token keeps late writes out.',
        ),
        h('label', { for: 'token' }, `Type the fencing token ${token} to confirm`),
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
    if (document.getElementById('token').value.trim() !== String(token)) {
      answer = `This is not the token ${token}.`;
      draw();
      return;
    }
    answer = await send(base, key, token);
    if (answer === undefined) dialog.close();
    else draw();
  }

  render(dialog); // a new form, with nothing typed
  draw();
  dialog.showModal();
}

/** @returns what went wrong */
async function send(base, key, token) {
  try {
    const response = await fetch(`${base}force-release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-fair-lock-board': 'force-release' },
      body: JSON.stringify({ key, token }),
    });
    if (response.ok) return undefined;
    const { message } = await response.json().catch(() => ({}));
    return typeof message === 'string' ? message : `The server refused it (status ${response.status}).`;
  } catch {
    return 'The server did not answer.';
  }
}
