import { type FieldError, type FieldPath, invalid } from "./field-error.ts";

/** Checks an IP address: any form of it but leading zeros and IPv4 in IPv6. */
export function validateIp(address: string, field: FieldPath): FieldError[] {
  switch (kindOf(address)) {
    case "strict":
      return [];
    case "leadingZeros":
      return [invalid(field, address, "must not have leading 0s")];
    case "mapped":
      return [invalid(field, address, "must not be an IPv4-mapped IPv6 address")];
    case "none":
      return [
        invalid(field, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
      ];
  }
}

type AddressKind = "strict" | "leadingZeros" | "mapped" | "none";

function kindOf(address: string): AddressKind {
  return address.includes(":") ? kindOfIpv6(address) : kindOfIpv4(address);
}

function kindOfIpv4(address: string): AddressKind {
  const parts = address.split(".");
  const isAddress =
    parts.length === 4 && parts.every((part) => /^[0-9]{1,}$/.test(part) && Number(part) <= 255);
  if (!isAddress) return "none";
  return parts.some((part) => part.length > 1 && part.startsWith("0")) ? "leadingZeros" : "strict";
}

function kindOfIpv6(address: string): AddressKind {
  const last = address.slice(address.lastIndexOf(":") + 1);
  const tail = /^[0-9.]*$/.test(last) && last.includes(".") ? last : undefined;
  const tailKind = tail === undefined ? "strict" : kindOfIpv4(tail);
  if (tailKind === "none") return "none";
  const groups = ipv6Groups(tail === undefined ? address : `${address.slice(0, -tail.length)}0:0`);
  if (groups === undefined) return "none";
  if (tailKind === "leadingZeros") return "leadingZeros";
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? "mapped" : "strict";
}

/** The eight groups of an address without an IPv4 tail; undefined when it is not an address. */
function ipv6Groups(address: string): readonly number[] | undefined {
  const halves = address.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(groupsOf);
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function groupsOf(text: string): number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return groups.map((group) => Number.parseInt(group, 16));
}
