import { describe, expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import type { ObservedContainer } from "../../model/observed.ts";
import { type EndingPod, endingTurns, isStorageMount, mayBeDriver } from "./ending-order.ts";

const pod = (uid: string, mayBe: boolean, usesDriver: boolean): EndingPod => ({
  uid: podUid(uid),
  mayBeDriver: mayBe,
  usesDriver,
});

const mounting = (hostPath: string, readOnly = false) => {
  const mounts = [{ containerPath: "/x", hostPath, readOnly, recursiveReadOnly: false }];
  return { containers: [{ mounts } as Partial<ObservedContainer> as ObservedContainer] };
};

describe("the order in which pods of a node are ended", () => {
  test("drivers end after the pods that use volumes, those last that use none themselves", () => {
    const pods = [
      pod("driver", true, false),
      pod("web", false, true),
      pod("driver-with-disk", true, true),
      pod("plain", false, false),
    ];
    expect(endingTurns(pods)).toEqual([["web", "plain"], ["driver-with-disk"], ["driver"]]);
  });

  test("a driver waits for the volumes of pods that have ended already", () => {
    expect(endingTurns([pod("driver", true, false)])).toEqual([[], ["driver"]]);
  });

  test("pods without a driver among them end at once", () => {
    expect(endingTurns([pod("a", false, true), pod("b", false, false)])).toEqual([["a", "b"]]);
  });

  test.each([
    ["/data/kubelet", true],
    ["/data/kubelet/plugins_registry", true],
    ["/data/kubelet/plugins_registry/x", true],
    ["/data/kubelet/plugins_registry2", false],
    ["/data/kubelet/plugins", false],
  ])("a pod that has %s may be a driver: %s", (path, expected) => {
    const folder = "/data/kubelet/plugins_registry";
    expect(mayBeDriver(mounting(path), folder)).toBe(expected);
    expect(mayBeDriver(mounting(path, true), folder)).toBe(false);
  });
});

test.each([
  ["plugins/kubernetes.io/csi/d/h/globalmount", true],
  ["plugins/kubernetes.io/csi/volumeDevices/publish/x/u", true],
  ["plugins/kubernetes.io/local-volume/mounts/pv", false],
  ["plugins/d.example.com/data", false],
  ["pods/u/volumes/kubernetes.io~csi/v/mount", true],
  ["pods/u/volumes/kubernetes.io~iscsi/v", true],
  ["pods/u/volumes/kubernetes.io~empty-dir/v", false],
  ["pods/u/volumes/kubernetes.io~nfs/v", false],
  ["pods/u/volumeDevices/kubernetes.io~csi/v", true],
  ["", false],
])("a mount at %s is of storage that lasts: %s", (path, expected) => {
  expect(isStorageMount("/root", path === "" ? "/root" : `/root/${path}`)).toBe(expected);
});
