/** Whole lines, each with the prefix; a last line without a newline gets one. */
export async function* prefixLines(
  source: AsyncIterable<Uint8Array>,
  prefix: string,
): AsyncGenerator<Uint8Array> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    pending = Buffer.concat([pending, chunk]);
    for (let end = pending.indexOf(0x0a); end >= 0; end = pending.indexOf(0x0a)) {
      yield Buffer.concat([Buffer.from(prefix), pending.subarray(0, end + 1)]);
      pending = pending.subarray(end + 1);
    }
  }
  if (pending.length > 0) yield Buffer.concat([Buffer.from(prefix), pending, Buffer.from("\n")]);
}
