const offset = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a over the text's UTF-8 bytes, 32 bits. */
export function fnv1a(text: string): number {
  let hash = offset;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, prime);
  }
  return hash >>> 0;
}
