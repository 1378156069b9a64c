import type { NetworkInterfaceInfo } from "node:os";
import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";

export interface RouteTables {
  /** /proc/net/route */
  readonly ipv4: string;
  /** /proc/net/ipv6_route; empty where the kernel knows no IPv6. */
  readonly ipv6: string;
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** The address that the machine uses on a default route, the wanted family's before the other's. */
export function chooseDefaultIp(
  routes: RouteTables,
  interfaces: Interfaces,
  preferred: 4 | 6,
): Result<string, string> {
  const byFamily = { 4: ipv4DefaultInterfaces(routes.ipv4), 6: ipv6DefaultInterfaces(routes.ipv6) };
  if (byFamily[4].length + byFamily[6].length === 0) {
    return err('no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"');
  }
  const families = preferred === 4 ? ([4, 6] as const) : ([6, 4] as const);
  for (const family of families) {
    for (const name of byFamily[family]) {
      // Where links have local addresses only, the machine's own is on the loopback interface.
      const ip = globalIp(interfaces[name], family) ?? globalIp(interfaces["lo"], family);
      if (ip !== undefined) return ok(ip);
    }
  }
  return err("unable to select an IP from default routes.");
}

function ipv4DefaultInterfaces(table: string): readonly string[] {
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, destination]) => destination === "00000000")
    .map(([name = ""]) => name);
}

function ipv6DefaultInterfaces(table: string): readonly string[] {
  const zero = "0".repeat(32);
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([destination, , , , gateway]) => destination === zero && gateway !== zero)
    .map((fields) => fields[9] ?? "");
}

function globalIp(
  addresses: readonly NetworkInterfaceInfo[] | undefined,
  family: 4 | 6,
): string | undefined {
  return (addresses ?? [])
    .map(({ address }) => parseIpAddress(address))
    .find((ip) => ip !== undefined && ip.family === family && isGlobalUnicast(ip.text))?.text;
}

function isGlobalUnicast(ip: string): boolean {
  return !/^(127\.|169\.254\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|0\.0\.0\.0$|::1?$|fe[89ab]|ff)/.test(
    ip,
  );
}
