import type { AgentOptions } from "../../src/app/create-agent.ts";
import { plainNodeSettings } from "../../src/app/node-options.ts";
import type { Node } from "../../src/model/generated/kubernetes.ts";
import { recordedRegistry } from "./images.ts";
import type { TraceFolders } from "./known-names.ts";

export const recordedNodeName = "conf-node";

/** The address of the one service that a scenario makes. */
export const recordedServiceIp = "10.96.253.11";

/** The recorded node as its API server had it. */
export const recordedNodeObject: Node = {
  metadata: {
    name: recordedNodeName,
    labels: {
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": recordedNodeName,
      "kubernetes.io/os": "linux",
    },
    annotations: { "node.alpha.kubernetes.io/ttl": "0" },
  },
  status: {
    capacity: {
      cpu: "2",
      "ephemeral-storage": "264212084Ki",
      memory: "24684100Ki",
      pods: "130",
    },
    allocatable: {
      cpu: "2",
      "ephemeral-storage": "267847642337",
      memory: "24581700Ki",
      pods: "130",
    },
    declaredFeatures: ["RestartAllContainersOnContainerExits"],
  },
};

/** The recorded kubelet's configuration and machine, as far as requests show them. */
export const recordedNode: NonNullable<AgentOptions["nodeFacts"]> = {
  clusterDomain: "cluster.local",
  hostIps: ["10.99.0.1"],
  readNodeDns: () =>
    Promise.resolve({
      clusterDns: ["10.96.0.10"],
      clusterDomain: "cluster.local",
      nodeIps: ["10.99.0.1"],
      resolverConfig: "nameserver 10.255.255.53\n",
    }),
  node: recordedNodeObject,
};

/** Where the recorded machine kept things; its own prefixes were replaced by /CONF. */
export const recordedFolders: TraceFolders = {
  data: "/CONF/kl",
  podLogs: "/CONF/podlogs",
  cgroupRoot: "/conf",
  registry: recordedRegistry,
};

/** How the recorded kubelet was configured as a node. */
export const recordedTuning: NonNullable<AgentOptions["tuning"]> = {
  settings: {},
  runtime: {},
  swapBehavior: "NoSwap",
  resolverConfigPath: "/etc/resolv.conf",
  podCidr: "",
  node: (runtime) => ({
    ...plainNodeSettings(recordedNodeName, runtime),
    registerNode: true,
    enableControllerAttachDetach: true,
    maxPods: 130,
    port: 20_250,
  }),
};
