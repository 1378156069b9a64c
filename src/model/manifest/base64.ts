const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The UTF-8 bytes of a text in base64. */
export function encodeBase64(text: string): string {
  const bytes = new TextEncoder().encode(text);
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
