import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { planMirror } from "../../core/status/plan-mirror.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { configHashAnnotation, configSourceAnnotation } from "../../model/pod-source.ts";
import { PodRegistry } from "./pod-registry.ts";
import { PodTable } from "./pod-table.ts";

const node = { metadata: { name: "node-a", uid: "node-uid" } };

function version(hash: string): Pod {
  const pod = testPod({ containers: [{ name: "web" }] });
  const annotations = { [configHashAnnotation]: hash, [configSourceAnnotation]: "file" };
  return { ...pod, metadata: { ...pod.metadata, uid: podUid(hash), annotations } };
}

test("the mirror pod of another version of a static pod is not the pod's", () => {
  const registry = new PodRegistry(new PodTable());
  const old = version("one");
  const step = planMirror(old, undefined, node);
  if (step.kind !== "create") throw new Error("no mirror pod was planned");
  registry.set(step.mirror);
  expect(registry.mirrorOf(old)).toBe(step.mirror);
  expect(registry.mirrorOf(version("two"))).toBeUndefined();
});
