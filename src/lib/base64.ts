import { trimEndOf } from "./trim-text.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The bytes of standard base64 text; undefined when it is not base64. Line breaks are allowed. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const compact = text.replace(/[\r\n]/g, "");
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  const digits = trimEndOf(compact, "=");
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0;
  let bitCount = 0;
  let index = 0;
  for (const digit of digits) {
    bits = ((bits << 6) | alphabet.indexOf(digit)) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[index++] = (bits >> bitCount) & 0xff;
    }
  }
  return bytes;
}

/** The UTF-8 bytes of a text in base64. */
export function encodeBase64(text: string): string {
  return encodeBase64Bytes(new TextEncoder().encode(text));
}

export function encodeBase64Bytes(bytes: Uint8Array): string {
  let encoded = "";
  for (let start = 0; start < bytes.length; start += 3) {
    const [first = 0, second = 0, third = 0] = bytes.subarray(start, start + 3);
    const count = Math.min(3, bytes.length - start);
    const group = (first << 16) | (second << 8) | third;
    for (let index = 0; index < 4; index++) {
      encoded += index <= count ? alphabet[(group >> (18 - 6 * index)) & 63] : "=";
    }
  }
  return encoded;
}
