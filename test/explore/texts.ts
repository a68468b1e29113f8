/** A piece ends with the brackets that close: texts that differ little have most of their pieces in common. */
const PIECE = /[^\]}]*[\]}]*/g;
/** How many numbers a character can stand for. */
const RADIX = 1 << 16;

/** A map has at most 2^24 entries, fewer than a search may need of texts. */
const MAPS = 16;

/** Texts as numbers: equal texts have equal numbers, which differ from one search to the next. */
export class Texts {
  /** By the packed texts. */
  private readonly ids = Array.from({ length: MAPS }, () => new Map<string, number>());
  /** The numbers of the pieces of each text, two characters for each: a search keeps millions of texts, which are alike. */
  private readonly packed: string[] = [];
  private readonly hashes: number[] = [];
  private readonly pieceIds = new Map<string, number>();
  private readonly pieces: string[] = [];

  id(text: string): number {
    const packed = this.pack(text);
    const ids = this.ids[hash(packed) & (MAPS - 1)]!;
    let id = ids.get(packed);
    if (id === undefined) {
      id = this.packed.length;
      this.packed.push(packed);
      this.hashes.push(hash(text));
      ids.set(packed, id);
    }
    return id;
  }

  text(id: number): string {
    const packed = this.packed[id]!;
    let text = '';
    for (let i = 0; i < packed.length; i += 2)
      text += this.pieces[packed.charCodeAt(i) * RADIX + packed.charCodeAt(i + 1)]!;
    return text;
  }

  /** An order of texts that is the same in each search. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    return this.hashes[a]! - this.hashes[b]! || (this.text(a) < this.text(b) ? -1 : 1);
  }

  get size(): number {
    return this.packed.length;
  }

  private pack(text: string): string {
    const codes: number[] = [];
    for (const piece of text.match(PIECE)!) {
      if (piece === '') continue;
      let id = this.pieceIds.get(piece);
      if (id === undefined) {
        // A copy: the match alone would keep the whole text in memory.
        const copy = Buffer.from(piece).toString();
        id = this.pieces.push(copy) - 1;
        this.pieceIds.set(copy, id);
      }
      codes.push(Math.floor(id / RADIX), id % RADIX);
    }
    return String.fromCharCode(...codes);
  }
}

export function hash(text: string): number {
  let result = 0;
  for (let i = 0; i < text.length; i++) result = (Math.imul(result, 31) + text.charCodeAt(i)) | 0;
  return result;
}
