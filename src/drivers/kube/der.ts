// The part of DER that certificates and requests for them are written in.

/** One element: its tag, its length, its content. */
export function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(body.length), body]);
}

export function sequence(...content: readonly Buffer[]): Buffer {
  return element(0x30, ...content);
}

export function setOf(...content: readonly Buffer[]): Buffer {
  return element(0x31, ...content);
}

/** A non-negative number from its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = start === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(start));
  const isNegative = ((digits[0] ?? 0) & 0x80) !== 0;
  return element(0x02, ...(isNegative ? [Buffer.from([0])] : []), digits);
}

/** An object identifier such as 2.5.4.3. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function nothing(): Buffer {
  return element(0x05);
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.from([value ? 0xff : 0]));
}

export function octets(content: Buffer): Buffer {
  return element(0x04, content);
}

export function bits(content: Buffer, unusedBits = 0): Buffer {
  return element(0x03, Buffer.from([unusedBits]), content);
}

/** A text as names have it: PrintableString where that is possible. */
export function text(value: string): Buffer {
  const isPrintable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
  return element(isPrintable ? 0x13 : 0x0c, Buffer.from(value, "utf8"));
}

/** UTCTime until 2049, as RFC 5280 wants it, GeneralizedTime from then on. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  const isShort = digits.startsWith("19") || /^20[0-4]/.test(digits);
  return element(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits, "ascii"));
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift(0x80 | (rest % 128));
  }
  return bytes;
}
