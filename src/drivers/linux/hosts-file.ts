import { isIP } from "node:net";

/** Addresses by name, in lower case and without a dot at the end, in the order of the file. */
export type HostNames = ReadonlyMap<string, readonly string[]>;

/** What /etc/hosts says: an address, then its names. Lines that are neither are left out. */
export function parseHostsFile(text: string): HostNames {
  const names = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...lineNames] = words(line);
    if (isIP(address) === 0) continue;
    for (const name of lineNames) {
      const key = hostKey(name);
      const addresses = names.get(key);
      if (addresses === undefined) names.set(key, [address]);
      else addresses.push(address);
    }
  }
  return names;
}

/** As names are compared: example.com and EXAMPLE.COM. are one. */
export function hostKey(name: string): string {
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}

function words(line: string): readonly string[] {
  const end = line.indexOf("#");
  return (end === -1 ? line : line.slice(0, end)).split(/\s/).filter((word) => word !== "");
}
