import { join } from "node:path";
import type { RuntimeWorld } from "../../integration/support/runtime-world.ts";
import type { ControlPlane } from "./control-plane.ts";

export const kubeletPort = 10_250;

/** The kubelet's configuration of a test node: its own folder and address, and nothing that reaches beyond them. */
export function nodeConfig(folder: string, plane: ControlPlane, world: RuntimeWorld): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: plane.address,
    port: kubeletPort,
    healthzBindAddress: plane.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: plane.authorityFile },
    },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: world.containerd.endpoint,
    cgroupDriver: "cgroupfs",
    cgroupRoot: world.cgroupRoot,
    // The machine of the tests may have any version of cgroups, and swap.
    failCgroupV1: false,
    failSwapOn: false,
    staticPodPath: join(folder, "manifests"),
    // Reads new manifests at once, not after 20 seconds.
    fileCheckFrequency: "1s",
    podLogsDir: join(folder, "logs"),
    volumePluginDir: join(folder, "volume-plugins"),
    clusterDNS: ["10.96.0.10"],
    clusterDomain: "cluster.local",
    maxPods: 130,
    // Others may fill the disk and the memory of this machine.
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    makeIPTablesUtilChains: false,
  };
}
