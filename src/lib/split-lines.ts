const newline = 0x0a;

/** All that is held of a line that does not end. */
const maxLineBytes = 1024 * 1024;

/** The lines of a stream without their newlines, each in the pieces it came in; one that is longer than `maxBytes` is broken. */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number = maxLineBytes,
): AsyncGenerator<readonly Uint8Array[]> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      const room = maxBytes - bytes;
      // One more: a newline right behind the last byte that fits ends the line.
      const end = rest.subarray(0, room + 1).indexOf(newline);
      if (end < 0 && rest.length <= room) {
        pieces.push(rest);
        bytes += rest.length;
        break;
      }
      const taken = end < 0 ? room : end;
      yield [...pieces, rest.subarray(0, taken)];
      rest = rest.subarray(end < 0 ? taken : end + 1);
      pieces = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield pieces;
}
