const offset = 0x6c62272e07bb014262b821756295c58dn;
const prime = 0x1000000000000000000013bn;
const mask = (1n << 128n) - 1n;

/** 32 hex digits that depend on every part: one content at one place has always the same UID. */
export function contentUid(content: unknown, place: string): string {
  return textUid(canonicalJson(content) + place);
}

/** 32 hex digits of a text, as a kubelet makes them. */
export function textUid(text: string): string {
  let hash = offset;
  for (const byte of new TextEncoder().encode(text)) {
    hash = ((hash ^ BigInt(byte)) * prime) & mask;
  }
  return hash.toString(16).padStart(32, "0");
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
