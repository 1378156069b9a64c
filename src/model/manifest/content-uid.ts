// FNV-1a of 128 bits, in four parts of 32 bits, the lowest first: with whole numbers of 128 bits a manifest of a megabyte would
// take seconds. The prime is 2^88 + 315.
const offset = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e] as const;
const primeLow = 315;
const partSize = 2 ** 32;

/** 32 hex digits that depend on every part: one content at one place has always the same UID. */
export function contentUid(content: unknown, place: string): string {
  return textUid(canonicalJson(content) + place);
}

/** 32 hex digits of a text, as a kubelet makes them. */
export function textUid(text: string): string {
  let [a, b, c, d]: [number, number, number, number] = [...offset];
  for (const byte of new TextEncoder().encode(text)) {
    const low = (a ^ byte) >>> 0;
    const first = low * primeLow;
    const second = b * primeLow + Math.floor(first / partSize);
    const third = c * primeLow + ((low << 24) >>> 0) + Math.floor(second / partSize);
    const shifted = ((b << 24) | (low >>> 8)) >>> 0;
    const fourth = d * primeLow + shifted + Math.floor(third / partSize);
    a = first >>> 0;
    b = second >>> 0;
    c = third >>> 0;
    d = fourth >>> 0;
  }
  return [d, c, b, a].map((part) => part.toString(16).padStart(8, "0")).join("");
}

/** JSON with sorted names, so that the order in a file does not matter. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
