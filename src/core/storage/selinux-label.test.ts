import { describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { PodSecurityContext, SELinuxOptions } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { type LabelQuestion, labelVolume } from "./selinux-label.ts";
import type { VolumeSpec } from "./volume-spec.ts";

const node = {
  processContext: "system_u:system_r:container_t:s0",
  fileContext: "system_u:object_r:container_file_t:s0",
  mountsAllModes: false,
};
const label = "system_u:object_r:container_file_t:s0:c1,c2";
const other = "system_u:object_r:container_file_t:s0:c3,c4";
const level = "s0:c1,c2";

function podOf(
  containers: readonly (SELinuxOptions | undefined)[],
  securityContext?: PodSecurityContext,
): Pod {
  return buildPod({
    spec: {
      securityContext,
      containers: containers.map((seLinuxOptions, index) => ({
        name: `c${index}`,
        securityContext: { seLinuxOptions },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      })),
    },
  });
}

function volumeOf(...accessModes: readonly string[]): LabelQuestion["volume"] {
  const spec: VolumeSpec = {
    source: "persistentVolume",
    persistentVolume: {
      metadata: { name: "pv" },
      spec: { accessModes, csi: { driver: "d", volumeHandle: "h" } },
    },
    readOnly: false,
  };
  const names = { plugin: "kubernetes.io/csi", outerVolumeSpecNames: ["data"] };
  return { ...names, spec, supportsSeLinuxMount: true };
}

function decide(change: Partial<LabelQuestion>) {
  const pod = podOf([{ level }]);
  const volume = volumeOf("ReadWriteOncePod");
  const question = { known: undefined, isWanted: false, inUse: undefined };
  const { labels, counted } = labelVolume({ pod, volume, node, ...question, ...change });
  return { labels: labels.ok ? labels.value : labels.error, counted };
}

function both(text: string) {
  return { seLinuxLabel: text, podSeLinuxLabel: text };
}

describe("a volume that no pod has yet", () => {
  test("is mounted with the level of its containers, and counted", () => {
    const labels = { access_mode: "RWOP", volume_plugin: "kubernetes.io/csi/d" };
    expect(decide({})).toEqual({
      labels: both(label),
      counted: [{ metric: "volume_manager_selinux_volumes_admitted_total", labels }],
    });
  });

  test.each<[string, Partial<LabelQuestion>, string]>([
    [
      "takes what containers do not say from their pod",
      { pod: podOf([undefined], { seLinuxOptions: { level } }) },
      label,
    ],
    [
      "takes the user of the options, but neither their role nor their type",
      { pod: podOf([{ user: "u", role: "r", type: "t", level }]) },
      "u:object_r:container_file_t:s0:c1,c2",
    ],
    ["has no context when its containers have none", { pod: podOf([undefined]) }, ""],
    ["has no context when its containers' options are empty", { pod: podOf([{}]) }, ""],
    ["has no context when the runtime chooses the level", { pod: podOf([{ type: "t" }]) }, ""],
    [
      "has the node's file context where the policy names no process's",
      { node: { ...node, processContext: "" } },
      node.fileContext,
    ],
    [
      "has no context when the pod asks for relabelling",
      { pod: podOf([{ level }], { seLinuxChangePolicy: "Recursive" }) },
      "",
    ],
    [
      "has no context when its driver does not mount with one",
      { volume: { ...volumeOf("ReadWriteOncePod"), supportsSeLinuxMount: false } },
      "",
    ],
    ["has no context without SELinux", { node: undefined }, ""],
  ])("%s", (_, change, expected) => {
    expect(decide(change).labels).toEqual(both(expected));
  });

  test("has no level where the policy has none", () => {
    const plain = { ...node, processContext: "u:r:t", fileContext: "u:o:f" };
    expect(decide({ node: plain, pod: podOf([{ user: "v" }]) }).labels).toEqual(both("v:o:f"));
  });

  test.each([
    [["ReadWriteOnce"], "", false],
    [["ReadWriteOncePod", "ReadWriteOnce"], "", false],
    [["ReadWriteMany"], label, true],
  ])("with the access modes %s is mounted with %j", (modes, seLinuxLabel, mountsAllModes) => {
    const change = { volume: volumeOf(...modes), node: { ...node, mountsAllModes } };
    expect(decide(change).labels).toEqual({ seLinuxLabel, podSeLinuxLabel: label });
  });

  test("keeps the context with which containers that run have it", () => {
    expect(decide({ inUse: "" }).labels).toEqual({ seLinuxLabel: "", podSeLinuxLabel: label });
    expect(decide({ node: undefined, inUse: other }).labels).toMatchObject({ seLinuxLabel: other });
  });
});

describe("containers of one pod with different contexts", () => {
  const pod = podOf([{ level }, { level: "s0:c3,c4" }]);
  const counted = (outcome: string, access_mode: string) => ({
    metric: `volume_manager_selinux_pod_context_mismatch_${outcome}_total`,
    labels: { access_mode },
  });

  test("cannot share a volume that is mounted with one", () => {
    expect(decide({ pod })).toEqual({
      labels: `multiple SELinux labels found: ${label},${other}`,
      counted: [counted("errors", "RWOP")],
    });
  });

  test("share one that is relabelled, which is counted", () => {
    expect(decide({ pod, volume: volumeOf("ReadWriteOnce") })).toEqual({
      labels: both(""),
      counted: [counted("warnings", "RWO")],
    });
  });
});

test("a context of the node that is not valid refuses the volume, and is counted", () => {
  const change = { node: { ...node, fileContext: "nonsense" } };
  expect(decide(change)).toEqual({
    labels: "failed to construct SELinux label: the node's context nonsense is not valid",
    counted: [
      { metric: "volume_manager_selinux_container_errors_total", labels: { access_mode: "RWOP" } },
    ],
  });
});

describe("a volume that another pod has with another context", () => {
  const known = both(other);
  const counted = (outcome: string, access_mode: string) => ({
    metric: `volume_manager_selinux_volume_context_mismatch_${outcome}_total`,
    labels: { access_mode, volume_plugin: "kubernetes.io/csi/d" },
  });

  test("is refused while that pod has it", () => {
    expect(decide({ known })).toEqual({
      labels: `conflicting SELinux labels of volume pv: "${other}" and "${label}"`,
      counted: [counted("errors", "RWOP")],
    });
  });

  test("is shared where it is relabelled, which is counted", () => {
    const shared = { seLinuxLabel: "", podSeLinuxLabel: other };
    const volume = volumeOf("ReadWriteMany", "ReadOnlyMany");
    expect(decide({ known: shared, volume })).toEqual({
      labels: shared,
      counted: [counted("warnings", "RWX")],
    });
  });

  test("is not compared again for a pod that has it", () => {
    expect(decide({ known, isWanted: true })).toEqual({ labels: known, counted: [] });
  });

  test("is not compared where its driver does not mount with one", () => {
    const volume = { ...volumeOf("ReadWriteOncePod"), supportsSeLinuxMount: false };
    expect(decide({ known, volume })).toEqual({ labels: known, counted: [] });
  });
});
