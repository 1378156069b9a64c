import { parseIpAddress } from "../../lib/ip-address.ts";
import type { VolumeSpec } from "./volume-spec.ts";

export const nfsPluginName = "kubernetes.io/nfs";

export interface NfsSource {
  /** As mount(8) takes it: the server and the path that it exports. */
  readonly export: string;
  readonly readOnly: boolean;
}

/** What an NFS volume mounts; undefined for a volume of another type. */
export function nfsSource(spec: VolumeSpec): NfsSource | undefined {
  const nfs = spec.source === "inline" ? spec.volume.nfs : spec.persistentVolume.spec?.nfs;
  if (nfs === undefined) return undefined;
  const { server, path } = nfs;
  const host = parseIpAddress(server)?.family === 6 ? `[${server}]` : server;
  // A persistent volume is as read-only as the reference to its claim.
  const readOnly = spec.source === "inline" ? nfs.readOnly === true : spec.readOnly;
  return { export: `${host}:${path}`, readOnly };
}
