import { describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { mustParseQuantity } from "../../model/quantity.ts";
import { plainTraits } from "./kinds/volume-kind.ts";
import { nodeAttachProblem, planMount, planRelease } from "./plan-volumes.ts";
import type { VolumeSpec } from "./volume-spec.ts";
import {
  type NodeVolume,
  newNodeVolume,
  type PodMount,
  type WantedVolume,
} from "./volume-state.ts";

const csi: VolumeSpec = {
  source: "persistentVolume",
  persistentVolume: { spec: { csi: { driver: "d", volumeHandle: "h" } } },
  readOnly: false,
};
const wanted: WantedVolume = {
  ...plainTraits,
  attachable: true,
  deviceMountable: true,
  isExpandable: true,
  pod: buildPod({}),
  podUid: podUid("u"),
  volumeName: "v",
  outerVolumeSpecNames: ["data"],
  spec: csi,
  plugin: "kubernetes.io/csi",
  csiDriver: "d",
  readOnly: false,
  volumeMode: "Filesystem",
  claim: undefined,
  volumeGidValue: "",
  desiredSizeLimitBytes: undefined,
  desiredPersistentVolumeSize: mustParseQuantity("2Gi"),
  wantedMs: 0,
  seLinuxLabel: "",
  podSeLinuxLabel: "",
};
const volume: NodeVolume = newNodeVolume({
  name: "v",
  spec: csi,
  plugin: "kubernetes.io/csi",
  isAttachable: true,
  devicePath: "",
});
const mount: PodMount = {
  state: "mounted",
  spec: csi,
  plugin: "kubernetes.io/csi",
  volume: undefined,
  groupId: "",
  isRemountDue: false,
  seLinuxLabel: "",
  isFound: false,
};
const attached = { byController: true, isReportedInUse: true, isReportedAttached: true };

describe("a volume that is not on the node", () => {
  const facts = { wanted, mount: undefined, volume: undefined };

  test.each([
    ["is verified once it is reported attached", attached, "verify-attached"],
    ["waits to be reported in use", { ...attached, isReportedInUse: false }, "wait"],
    ["waits for the controller", { ...attached, isReportedAttached: false }, "wait"],
    [
      "is attached by the node where no controller does",
      { ...attached, byController: false },
      "attach",
    ],
  ])("%s", (_, attach, kind) => {
    expect(planMount(facts, attach)?.kind).toBe(kind);
  });

  test("needs nothing of the node's status when it is not attachable", () => {
    const step = planMount(
      { ...facts, wanted: { ...wanted, attachable: false } },
      { byController: false, isReportedInUse: false, isReportedAttached: false },
    );
    expect(step?.kind).toBe("verify-attached");
  });
});

describe("a volume on the node", () => {
  const sized = (size: string, change: Partial<NodeVolume> = {}): NodeVolume => ({
    ...volume,
    size: mustParseQuantity(size),
    ...change,
  });

  test.each<[string, PodMount | undefined, NodeVolume, string | undefined]>([
    ["is mounted", undefined, sized("2Gi"), "mount"],
    [
      "is mounted again when that is uncertain",
      { ...mount, state: "uncertain" },
      sized("1Gi"),
      "mount",
    ],
    [
      "is set up again when its content may have changed",
      { ...mount, isRemountDue: true },
      sized("1Gi"),
      "mount",
    ],
    ["is expanded when its claim is smaller", mount, sized("1Gi"), "expand"],
    ["is left alone when it is large enough", mount, sized("2Gi"), undefined],
    ["is left alone when its size is not known", mount, volume, undefined],
    [
      "is left alone when its driver refuses",
      mount,
      sized("1Gi", { isExpansionRefused: true }),
      undefined,
    ],
  ])("%s", (_, mounted, present, kind) => {
    const step = planMount({ wanted, mount: mounted, volume: present }, attached);
    expect(step?.kind).toBe(kind);
  });

  test("is set up again only as what it is", () => {
    const facts = { wanted, volume };
    const again = planMount({ ...facts, mount: { ...mount, isRemountDue: true } }, attached);
    const uncertain = planMount(
      { ...facts, mount: { ...mount, state: "uncertain", isRemountDue: true } },
      attached,
    );
    expect([again, uncertain]).toMatchObject([{ isRemount: true }, { isRemount: false }]);
  });
});

describe("a volume that no pod uses", () => {
  test.each<[NodeVolume, boolean, string]>([
    [{ ...volume, device: "mounted" }, true, "unmount-device"],
    [{ ...volume, device: "uncertain" }, true, "unmount-device"],
    [volume, true, "forget"],
    [volume, false, "detach"],
    [{ ...volume, isAttachable: false }, false, "forget"],
  ])("is taken down step by step", (present, byController, kind) => {
    expect(planRelease(present, byController).kind).toBe(kind);
  });

  test("is not detached by the node if it is a CSI volume", () => {
    expect(nodeAttachProblem(csi, "detaching")).toContain("not supported");
    const nfs: VolumeSpec = {
      source: "inline",
      volume: { name: "n", iscsi: { targetPortal: "p", iqn: "i", lun: 0 } },
    };
    expect(nodeAttachProblem(nfs, "detaching")).toBeUndefined();
  });
});
