/** A part of Kubernetes' own suites. */
export interface Suite {
  /** What it is, for the report. */
  readonly title: string;
  /** e2e_node.test starts a kubelet and an API server of its own; e2e.test is given a cluster. */
  readonly program: "e2e.test" | "e2e_node.test";
  /** A filter of ginkgo on the specs' labels. */
  readonly labels: string;
  /** A regular expression of Go on the specs' full names, where labels do not say it. */
  readonly focus: string;
}

/** Left out everywhere: what is known to fail now and then, and what is not yet on by default. */
const never = "!Flaky && !Alpha";

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
  "[DRA]",
];

export type SuiteName = "node" | "e2e-node" | "devices" | "conformance" | "storage";

export const suites: Readonly<Record<SuiteName, Suite>> = {
  node: {
    title: "NodeConformance in a cluster",
    program: "e2e.test",
    labels: `NodeConformance && !Disruptive && ${never}`,
    focus: "",
  },
  "e2e-node": {
    title: "NodeConformance of e2e_node, without those that run alone",
    program: "e2e_node.test",
    labels: `NodeConformance && !Serial && !Disruptive && ${never}`,
    focus: "",
  },
  devices: {
    title: "Devices, CPUs and memory of e2e_node",
    program: "e2e_node.test",
    labels: never,
    focus: anyOf(deviceSpecs),
  },
  conformance: {
    title: "Conformance of what runs on one node",
    program: "e2e.test",
    labels: `Conformance && /^sig-(node|storage|apps|api-machinery|network)$/ && !Disruptive && ${never}`,
    focus: "",
  },
  storage: {
    title: "Storage",
    program: "e2e.test",
    labels: `Feature: isEmpty && !Disruptive && ${never}`,
    focus: anyOf(storageSpecs),
  },
};

/** Of the suites' specs, those that need what is not here. */
export const unavailable: string = anyOf([
  // Its pods have the image glibc-dns-testing.
  "should concurrently access the single",
  // Raw disks of Google's machines.
  "gce-localssd",
]);

/** A regular expression of Go that finds any of these texts. */
export function anyOf(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll(/[[\]().|+*?\\^${}]/g, String.raw`\$&`)).join("|");
}
