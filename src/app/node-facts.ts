// What this machine tells of itself as a node.

import { statfsSync } from "node:fs";
import { cpus, hostname, networkInterfaces, totalmem } from "node:os";
import type { AdmissionFacts } from "../core/admission/admit-pod.ts";
import type { SysctlAllowlist } from "../core/admission/sysctl-admission.ts";
import { isAppArmorEnabled } from "../drivers/linux/kernel-features.ts";
import type { RuntimeFeatures } from "../model/generated/cri.ts";
import type { Node } from "../model/generated/kubernetes.ts";

const maxPods = 110;

/** The machine's name in the form that node names have. */
export function defaultNodeName(): string {
  return hostname().trim().toLowerCase();
}

/** The machine's own addresses, that of the default route's family first; loopback where there is no other. */
export function readHostIps(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80"));
  const first = outside.find(({ family }) => family === "IPv4") ?? outside[0];
  return first === undefined ? ["127.0.0.1"] : [first.address];
}

/** The node with what its runtime says that it can do. */
export function withRuntimeFeatures(node: Node, features: RuntimeFeatures | undefined): Node {
  const { supplementalGroupsPolicy = false, userNamespacesHostNetwork = false } = features ?? {};
  return {
    ...node,
    status: {
      ...node.status,
      features: { supplementalGroupsPolicy },
      declaredFeatures: [
        ...(node.status?.declaredFeatures ?? []),
        ...(userNamespacesHostNetwork ? ["UserNamespacesHostNetworkSupport"] : []),
      ],
    },
  };
}

/** What pods are admitted against on this machine. */
export function describeAdmission(
  nodeName: string,
  dataDir: string,
  sysctls: SysctlAllowlist,
): AdmissionFacts {
  return {
    node: describeNode(nodeName, dataDir),
    sysctls,
    appArmorEnabled: isAppArmorEnabled(),
  };
}

function describeNode(nodeName: string, dataDir: string): Node {
  const disk = statfsSync(dataDir);
  const capacity = {
    cpu: String(cpus().length),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    "ephemeral-storage": `${Math.floor((disk.blocks * disk.bsize) / 1024)}Ki`,
    pods: String(maxPods),
  };
  return {
    metadata: {
      name: nodeName,
      labels: {
        "kubernetes.io/hostname": nodeName,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": process.arch === "x64" ? "amd64" : process.arch,
      },
    },
    status: {
      capacity,
      allocatable: capacity,
      declaredFeatures: ["RestartAllContainersOnContainerExits"],
    },
  };
}
