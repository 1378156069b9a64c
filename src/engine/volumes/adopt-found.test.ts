import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { foundMount, newNodeVolume, type WantedVolume } from "../../core/storage/volume-state.ts";
import { podUid } from "../../model/ids.ts";
import { PodTable } from "../pods/pod-table.ts";
import { adoptFound, isFoundElsewhere } from "./adopt-found.ts";
import { VolumeStates } from "./volume-states.ts";

const uid = podUid("uid-1");
const foundName = "kubernetes.io/iscsi/10.0.0.1:3260:iqn.2003-01.a:b:0";
const name = "kubernetes.io/iscsi/10.0.0.1:iqn.2003-01.a:b:0";
const spec = {
  source: "inline",
  volume: { name: "disk", iscsi: { targetPortal: "10.0.0.1", iqn: "iqn.2003-01.a:b", lun: 0 } },
} as const;

/** A disk that was found mounted for a pod, by a folder that has the port. */
function foundDisk({ isSettled = true } = {}): VolumeStates {
  const isAttachable = isSettled ? false : undefined;
  const states = new VolumeStates(new PodTable());
  const plugin = "kubernetes.io/iscsi";
  const volume = newNodeVolume({ name: foundName, spec, plugin, isAttachable, devicePath: "" });
  states.addVolume({ ...volume, device: "uncertain", isFound: true });
  states.setMount(uid, foundName, foundMount(spec, plugin));
  return states;
}

function want(states: VolumeStates, by = uid, volumeName = name): void {
  const wanted: WantedVolume = {
    volumeName,
    plugin: "kubernetes.io/iscsi",
    spec,
    outerVolumeSpecNames: ["disk"],
    attachable: true,
    deviceMountable: true,
    isExpandable: false,
    requiresRemount: false,
    supportsMountOptions: true,
    pod: buildPod(),
    wantedMs: 0,
  } as Partial<WantedVolume> as WantedVolume;
  states.setPod(by, { wanted: new Map([[volumeName, wanted]]), asked: "mount" });
}

test("a disk that was found by its folder is the one that its pod wants without a port", () => {
  const states = foundDisk();
  want(states);
  expect(isFoundElsewhere(states, name)).toBe(true);
  adoptFound(states, () => false);
  expect(states.volume(foundName)).toBeUndefined();
  expect(states.volume(name)).toMatchObject({ name, isAttachable: true, device: "uncertain" });
  expect([...states.pod(uid).mounts.keys()]).toEqual([name]);
  expect(states.volumesInUse()).toEqual([name]);
  expect(isFoundElsewhere(states, name)).toBe(false);
});

test("one that is being given back, or not settled, keeps its name and is waited for", () => {
  const busy = foundDisk();
  want(busy);
  adoptFound(busy, (each) => each === foundName);
  const unsettled = foundDisk({ isSettled: false });
  want(unsettled);
  adoptFound(unsettled, () => false);
  for (const states of [busy, unsettled]) {
    expect(states.volume(foundName)).toBeDefined();
    expect(isFoundElsewhere(states, name)).toBe(true);
  }
});

test("one that a pod uses under the name it was found by keeps that, whatever the next pod calls it", () => {
  const states = foundDisk();
  want(states, uid, foundName);
  want(states, podUid("uid-2"));
  adoptFound(states, () => false);
  expect([...states.pod(uid).mounts.keys()]).toEqual([foundName]);
  expect(isFoundElsewhere(states, name)).toBe(false);
});

test("one that no pod wants keeps its name", () => {
  const states = foundDisk();
  adoptFound(states, () => false);
  expect(states.volume(foundName)).toBeDefined();
});
