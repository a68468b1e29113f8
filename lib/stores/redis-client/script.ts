/** A Lua script as the embedding tool writes it. */
export interface Script {
  readonly lua: string;
  readonly sha1: string;
  readonly numberOfKeys: number;
}
