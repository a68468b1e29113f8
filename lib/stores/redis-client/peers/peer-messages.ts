/** The two messages by which clients ask each other on their channels. A client that does not know them ignores them. */

/** `Q nonce asker question`, and `A nonce client answer` */
const MESSAGE = /^([QA]) (\w{1,64}) ([\w-]{1,64}) (.*)$/s;

export interface PeerMessage {
  readonly isQuestion: boolean;
  readonly nonce: string;
  readonly sender: string;
  readonly text: string;
}

export function questionMessage(nonce: string, asker: string, question: string): string {
  return `Q ${nonce} ${asker} ${question}`;
}

export function answerMessage(nonce: string, client: string, answer: string): string {
  return `A ${nonce} ${client} ${answer}`;
}

/** Undefined for any other text. */
export function parseMessage(message: string): PeerMessage | undefined {
  const [, kind, nonce, sender, text] = MESSAGE.exec(message) ?? [];
  if (nonce === undefined || sender === undefined || text === undefined) return undefined;
  return { isQuestion: kind === 'Q', nonce, sender, text };
}
