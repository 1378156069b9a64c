import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { replacedPods } from "./replaced-pods.ts";

function wantedPod(uid: string, source: "file" | "api"): Pod {
  return buildPod({
    metadata: {
      name: "web",
      namespace: "default",
      uid,
      annotations: { "kubernetes.io/config.source": source },
    },
    spec: { containers: [] },
  });
}

const old = emptyObservedPod("old", "web", "default");

test("a pod is replaced by a static pod of its name", () => {
  expect(replacedPods([wantedPod("new", "file")], [old])).toEqual([old]);
});

test.each([
  ["a pod of the API server", [wantedPod("new", "api")], old],
  ["itself", [wantedPod("old", "file")], old],
  ["one of another name", [wantedPod("new", "file")], { ...old, name: "other" }],
  ["one of another namespace", [wantedPod("new", "file")], { ...old, namespace: "other" }],
])("a pod is not replaced by %s", (_, wanted, found) => {
  expect(replacedPods(wanted, [found])).toEqual([]);
});
