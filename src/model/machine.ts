export const TOOLS = ["containerd", "ctr", "runc", "iptables", "ip", "mount", "umount"] as const;
export type Tool = (typeof TOOLS)[number];

/** The CNI plugins that the network of `berth up` is made of. */
export const CNI_PLUGINS = ["bridge", "host-local", "loopback", "portmap"] as const;

/** What the machine offers to a container runtime, read once at start. */
export interface Machine {
  readonly isRoot: boolean;
  /** Effective capabilities that are also in the bounding set, as the kernel's bit mask. */
  readonly capabilities: bigint;
  readonly kernelRelease: string;
  readonly overlayKnown: boolean;
  readonly cgroups: MachineCgroups;
  /** Absolute paths of the programs found. */
  readonly tools: Readonly<Partial<Record<Tool, string>>>;
  readonly cni: CniPlugins;
  /** The interface of the default route. */
  readonly uplink: { readonly name: string; readonly mtu: number } | undefined;
}

export interface MachineCgroups {
  readonly version: "v1" | "v2" | "none";
  readonly controllers: readonly string[];
}

export interface CniPlugins {
  readonly searched: readonly string[];
  /** The first folder that has them all; otherwise the one that has most. */
  readonly folder: string | undefined;
  readonly missing: readonly string[];
}

/** Bit numbers of capabilities(7). */
export const CAPABILITIES = {
  CAP_NET_ADMIN: 12,
  CAP_SYS_ADMIN: 21,
  CAP_SYS_RESOURCE: 24,
} as const;

export function hasCapability(
  machine: Pick<Machine, "capabilities">,
  name: keyof typeof CAPABILITIES,
): boolean {
  return ((machine.capabilities >> BigInt(CAPABILITIES[name])) & 1n) === 1n;
}
