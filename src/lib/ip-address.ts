/** An IP address in its canonical text. An IPv4 address written as IPv6 (::ffff:10.0.0.1) is an IPv4 one. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly text: string;
}

/** Reads an IPv4 or IPv6 address; leading zeros in a decimal part are allowed and ignored. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const bytes = parseIpv4(text);
    return bytes && { family: 4, text: bytes.join(".") };
  }
  const groups = parseIpv6(text);
  if (groups === undefined) return undefined;
  const [mark, high, low] = groups.slice(5);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && mark === 0xffff;
  if (isMapped && high !== undefined && low !== undefined) {
    return { family: 4, text: [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".") };
  }
  return { family: 6, text: formatIpv6(groups) };
}

function parseIpv4(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 0xff) ? bytes : undefined;
}

function parseIpv6(text: string): number[] | undefined {
  const halves = text.split("::");
  const [head = "", tail] = halves;
  if (halves.length > 2) return undefined;
  const before = parseGroups(head, tail === undefined);
  const after = tail === undefined ? [] : parseGroups(tail, true);
  if (before === undefined || after === undefined) return undefined;
  const missing = 8 - before.length - after.length;
  // The "::" stands for at least one group.
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...before, ...Array.from({ length: missing }, () => 0), ...after];
}

/** 16-bit groups; at the end of an address the last two may be written as an IPv4 address. */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (isEnd && index === parts.length - 1 && part.includes(".")) {
      const [a, b, c, d] = parseIpv4(part) ?? [];
      if (a === undefined || b === undefined || c === undefined || d === undefined) {
        return undefined;
      }
      groups.push((a << 8) | b, (c << 8) | d);
    } else {
      const group = /^[\da-f]+$/i.test(part) ? Number.parseInt(part, 16) : Number.NaN;
      if (!(group <= 0xffff)) return undefined;
      groups.push(group);
    }
  }
  return groups;
}

/** As RFC 5952: the first longest run of at least two zero groups is left out. */
function formatIpv6(groups: readonly number[]): string {
  let start = 0;
  let length = 0;
  for (let index = 0; index < groups.length; index++) {
    let end = index;
    while (groups[end] === 0) end++;
    if (end - index > length) {
      start = index;
      length = end - index;
    }
  }
  if (length < 2) return formatGroups(groups);
  return `${formatGroups(groups.slice(0, start))}::${formatGroups(groups.slice(start + length))}`;
}

function formatGroups(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(":");
}
