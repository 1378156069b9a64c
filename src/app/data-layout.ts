// Where things lie below the data folder of `berth up`.
import { join } from "node:path";

export const defaultDataDir = "/var/lib/berth";

/** What is Berth's own in the root folder of a kubelet, which holds the kubelet's data beside it. */
export const kubeletFolder = "berth";

export interface DataLayout {
  /** The local API. */
  readonly socket: string;
  /** Pods' folders, laid out as a kubelet's. */
  readonly rootFolder: string;
  /** Where device plugins register. */
  readonly devicePlugins: string;
  readonly podLogs: string;
  readonly records: string;
  /** Manifests as they were when they were last good. */
  readonly lastGood: string;
  /** The folders of claims; they stay when everything else is removed. */
  readonly volumes: string;
  /** Manifests, unless another place is given. */
  readonly manifests: string;
}

export function dataLayout(dataDir: string): DataLayout {
  return {
    socket: join(dataDir, "berth.sock"),
    rootFolder: join(dataDir, "kubelet"),
    devicePlugins: join(dataDir, "kubelet", "device-plugins"),
    podLogs: join(dataDir, "logs"),
    records: join(dataDir, "records"),
    lastGood: join(dataDir, "last-good"),
    volumes: join(dataDir, "volumes"),
    manifests: join(dataDir, "manifests"),
  };
}
