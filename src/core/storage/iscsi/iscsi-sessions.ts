/** A session of the node with a target, as the kernel shows it below /sys/class/iscsi_host. */
export interface IscsiSession {
  /** The number of the SCSI host that the session is. */
  readonly hostNumber: number;
  readonly connections: readonly IscsiConnection[];
}

export interface IscsiConnection {
  readonly address: string;
  readonly port: string;
  readonly persistentAddress: string;
  readonly persistentPort: string;
}

/** The SCSI host for each portal at which the node is logged in, by current and by configured address. */
export function portalHosts(sessions: readonly IscsiSession[]): ReadonlyMap<string, number> {
  const hosts = new Map<string, number>();
  for (const { hostNumber, connections } of sessions) {
    for (const { address, port, persistentAddress, persistentPort } of connections) {
      hosts.set(hostAndPort(address, port), hostNumber);
      hosts.set(hostAndPort(persistentAddress, persistentPort), hostNumber);
    }
  }
  return hosts;
}

/** The number in hostN; undefined for other names. */
export function hostNumberOf(name: string): number | undefined {
  return /^host\d+$/.test(name) ? Number(name.slice("host".length)) : undefined;
}

function hostAndPort(host: string, port: string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
