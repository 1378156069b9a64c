import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { nestedMountPoints } from "./nested-mount-points.ts";

function podMounting(...mounts: readonly (readonly [string, string])[]): Pod {
  const volumeMounts = mounts.map(([name, mountPath]) => ({ name, mountPath }));
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "uid-1" },
    spec: { containers: [{ name: "main", volumeMounts }] },
  });
}

test("other volumes inside a volume need a folder there, those inside them do not", () => {
  const pod = podMounting(
    ["config", "/etc/app/"],
    ["data", "/etc/app/data"],
    ["cache", "/etc/app/data/cache"],
    ["deep", "/etc/app/x/y"],
    ["beside", "/etc/app-two"],
    ["beside", "/etc/app/data-two"],
  );
  expect(nestedMountPoints("config", pod)).toEqual(["data", "data-two", "x/y"]);
  expect(nestedMountPoints("data", pod)).toEqual(["cache"]);
  expect(nestedMountPoints("cache", pod)).toEqual([]);
});

test("a path cannot lead out of the volume", () => {
  const pod = podMounting(["config", "../etc"], ["data", "../etc/../etc/data/../x"]);
  expect(nestedMountPoints("config", pod)).toEqual(["x"]);
});
