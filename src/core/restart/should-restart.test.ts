import { describe, expect, test } from "vitest";
import { exitedContainer, runningContainer } from "../../../test/kit/carry-out.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { decideRestart } from "./restart-policy.ts";
import { shouldRestartContainer } from "./should-restart.ts";

const web = { name: "web", image: "web:1" };
const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1" },
  spec: { containers: [web] },
});

function restarts(seen: readonly ObservedContainer[], of: Pod = pod): boolean {
  const observed = { ...emptyObservedPod(podUid("uid-1"), "shop", "default"), containers: seen };
  return shouldRestartContainer(web, of, observed);
}

describe("a container", () => {
  test("that is missing, created or unknown starts; a running one does not", () => {
    const seen = runningContainer(web);
    expect(restarts([])).toBe(true);
    expect(restarts([{ ...seen, state: "created" }])).toBe(true);
    expect(restarts([{ ...seen, state: "unknown" }])).toBe(true);
    expect(restarts([seen])).toBe(false);
  });

  test("of a pod that is being deleted never starts", () => {
    const deletionTimestamp = "2026-05-04T10:00:00Z";
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp } };
    expect(restarts([], deleted)).toBe(false);
  });

  test("is judged by its newest run", () => {
    const onFailure = { ...pod, spec: { ...pod.spec, restartPolicy: "OnFailure" } };
    expect(restarts([exitedContainer(web, 0), exitedContainer(web, 1)], onFailure)).toBe(false);
  });
});

describe("an exit code", () => {
  const rule = { action: "Restart", exitCodes: { operator: "In", values: [42] } };

  test("that a rule names restarts a container that otherwise is not", () => {
    const ruled = { ...web, restartPolicy: "Never", restartPolicyRules: [rule] };
    expect(decideRestart(ruled, pod, 42)).toEqual({
      restart: true,
      because: "its restart rule for this exit code is Restart",
    });
    expect(decideRestart(ruled, pod, 1)).toEqual({
      restart: false,
      because: "its own restartPolicy is Never",
    });
  });

  test("meets no rule of a container without a restart policy of its own", () => {
    const never = { ...pod, spec: { ...pod.spec, restartPolicy: "Never" } };
    const ruled = { ...web, restartPolicyRules: [rule] };
    expect(decideRestart(ruled, never, 42).restart).toBe(false);
  });
});
