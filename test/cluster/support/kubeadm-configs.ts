import { etcdVersion, kubernetesVersion } from "./cluster-programs.ts";

const token = "berths.0123456789abcdef";
const group = "kubeadm.k8s.io/v1beta4";

/** What `kubeadm init` makes a cluster of one node from; PATCHES stands for the folder of the node's patches. */
export function initConfig(name: string, network: number, criSocket: string): string {
  return documents([
    {
      apiVersion: group,
      kind: "InitConfiguration",
      bootstrapTokens: [{ token, groups: ["system:bootstrappers:kubeadm:default-node-token"] }],
      localAPIEndpoint: { advertiseAddress: `10.97.${network}.1`, bindPort: 6443 },
      nodeRegistration: registration(name, criSocket),
      // Add-ons are for other pods than those of the control plane.
      skipPhases: ["addon"],
      patches: { directory: "PATCHES" },
    },
    {
      apiVersion: group,
      kind: "ClusterConfiguration",
      kubernetesVersion: `v${kubernetesVersion}`,
      etcd: { local: { imageTag: etcdVersion } },
    },
    {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      cgroupDriver: "cgroupfs",
      // The machine of the tests may have any version of cgroups, and swap; others may fill its disk and its memory.
      failCgroupV1: false,
      failSwapOn: false,
      evictionHard: { "memory.available": "0%" },
      imageGCHighThresholdPercent: 100,
      makeIPTablesUtilChains: false,
      fileCheckFrequency: "1s",
    },
  ]);
}

/** What `kubeadm join` makes a worker from. */
export function joinConfig(name: string, server: string, criSocket: string): string {
  return documents([
    {
      apiVersion: group,
      kind: "JoinConfiguration",
      discovery: {
        bootstrapToken: { token, apiServerEndpoint: server, unsafeSkipCAVerification: true },
      },
      nodeRegistration: registration(name, criSocket),
      patches: { directory: "PATCHES" },
    },
  ]);
}

function registration(name: string, criSocket: string): object {
  // This machine is smaller than kubeadm wants, and has images already.
  return { name, criSocket, ignorePreflightErrors: ["all"], imagePullPolicy: "Never" };
}

function documents(objects: readonly object[]): string {
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}
