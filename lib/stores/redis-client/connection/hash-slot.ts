/** How many slots the keys of a Redis Cluster fall into. */
const SLOTS = 16_384;

/** CRC-16/XMODEM, which the Cluster specification prescribes. */
const POLYNOMIAL = 0x1021;

/** The slot of a key: hashes the text between its first `{` and the next `}` if that is not empty, else the whole key. */
export function hashSlot(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/s.exec(key)?.[1] ?? key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
    }
    crc &= 0xffff;
  }
  return crc % SLOTS;
}
