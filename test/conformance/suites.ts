/** A part of Kubernetes' own suites. */
export interface Suite {
  /** What it is, for the report. */
  readonly title: string;
  /** e2e_node.test starts a kubelet and an API server of its own; e2e.test is given a cluster. */
  readonly program: "e2e.test" | "e2e_node.test";
  /** Regular expressions of Go on the specs' full names. */
  readonly focus: string;
  readonly skip: string;
}

/** Specs that stop the node on purpose, or that are known to fail now and then. */
const never = ["[Disruptive]", "[Flaky]", "[Alpha]"];

const storageSpecs = [
  "Subpath Atomic writer volumes",
  "Subpath Container restart",
  "PersistentVolumes-local",
  ...["emptydir", "hostPath", "hostPathSymlink", "local"].map(
    (driver) => `In-tree Volumes [Driver: ${driver}]`,
  ),
];

const deviceSpecs = [
  "Device Plugin",
  "Device Manager",
  "POD Resources",
  "CPU Manager",
  "Memory Manager",
  "Topology Manager",
];

export type SuiteName = "node" | "e2e-node" | "devices" | "conformance" | "storage";

export const suites: Readonly<Record<SuiteName, Suite>> = {
  node: {
    title: "NodeConformance in a cluster",
    program: "e2e.test",
    focus: anyOf(["[NodeConformance]"]),
    skip: anyOf(never),
  },
  "e2e-node": {
    title: "NodeConformance of e2e_node, without those that run alone",
    program: "e2e_node.test",
    focus: anyOf(["[NodeConformance]"]),
    skip: anyOf([...never, "[Serial]"]),
  },
  devices: {
    title: "Devices, CPUs and memory of e2e_node",
    program: "e2e_node.test",
    focus: anyOf(deviceSpecs),
    skip: anyOf(["[Flaky]"]),
  },
  conformance: {
    title: "Conformance of what runs on one node",
    program: "e2e.test",
    focus: String.raw`\[sig-(node|storage|apps|api-machinery|network)\].*\[Conformance\]`,
    skip: anyOf(never),
  },
  storage: {
    title: "Storage",
    program: "e2e.test",
    focus: anyOf(storageSpecs),
    skip: anyOf([
      ...never,
      "[Feature:",
      // Its pods have the image glibc-dns-testing.
      "should concurrently access the single",
      // Raw disks of Google's machines.
      "gce-localssd",
    ]),
  },
};

/** A regular expression of Go that finds any of these texts. */
export function anyOf(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll(/[[\]().|+*?\\^${}]/g, String.raw`\$&`)).join("|");
}
