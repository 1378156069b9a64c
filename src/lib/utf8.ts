// Bytes that claim to be UTF-8, read as Go reads them: each byte that belongs to no character stands alone.

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text with every stray byte replaced by U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decodeUtf8With(bytes, () => "\uFFFD");
}

/** The text with every stray byte replaced by what `replace` makes of it; `keep` sees the characters in between. */
export function decodeUtf8With(
  bytes: Uint8Array,
  replace: (stray: number) => string,
  keep: (text: string) => string = (text) => text,
): string {
  const parts: string[] = [];
  let start = 0;
  let index = 0;
  while (index < bytes.length) {
    const length = characterLength(bytes, index);
    if (length === 0) {
      parts.push(keep(decoder.decode(bytes.subarray(start, index))), replace(bytes[index] ?? 0));
      start = index + 1;
    }
    index += Math.max(length, 1);
  }
  parts.push(keep(decoder.decode(bytes.subarray(start))));
  return parts.join("");
}

/** Bytes of the character that starts here; 0 when none does. */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (let offset = 1; offset < length; offset++) {
    const [low, high] = offset === 1 ? secondByteRange(first) : [0x80, 0xbf];
    const byte = bytes[at + offset];
    if (byte === undefined || byte < low || byte > high) return 0;
  }
  return length;
}

/** Overlong forms, surrogates and what lies beyond Unicode show in the second byte. */
function secondByteRange(first: number): readonly [number, number] {
  switch (first) {
    case 0xe0:
      return [0xa0, 0xbf];
    case 0xed:
      return [0x80, 0x9f];
    case 0xf0:
      return [0x90, 0xbf];
    case 0xf4:
      return [0x80, 0x8f];
    default:
      return [0x80, 0xbf];
  }
}

/** How many bytes the text from `start` to `end` takes in UTF-8, without making them. */
export function utf8Length(text: string, start = 0, end: number = text.length): number {
  let bytes = 0;
  for (let index = start; index < end; index++) {
    const unit = text.charCodeAt(index);
    // Two halves of a pair are four bytes together; a half that stands alone is written as U+FFFD, which has three.
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : isPair(text, index) ? 4 : 3;
    if (unit >= 0xd800 && isPair(text, index)) index++;
  }
  return bytes;
}

function isPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  const next = text.charCodeAt(at + 1);
  return unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000;
}
