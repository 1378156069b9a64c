import { expect, test } from "vitest";
import { exitedContainer, runningContainer } from "../../../test/kit/carry-out.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../model/observed.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import {
  backoffKey,
  countRestart,
  crashLoopLimits,
  pruneRestartHistory,
  type RestartBackoff,
  type RestartHistory,
  restartBackoff,
} from "./crash-loop-backoff.ts";

const web = { name: "web", image: "web:1" };
const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1" },
  spec: { containers: [web] },
});

function tryStart(
  history: RestartHistory,
  nowMs: number,
  seen: ObservedContainer,
  container: AnyContainer = web,
): RestartBackoff {
  const observed = { ...emptyObservedPod(podUid("uid-1"), "shop", "default"), containers: [seen] };
  return restartBackoff(history, { pod, container, observed, nowMs }, crashLoopLimits);
}

function endedAt(finishedAtMs: number): ObservedContainer {
  return { ...exitedContainer(web, 1), finishedAtMs };
}

/** The history after the container ended at that moment and was started once its wait was over. */
function restartAfter(history: RestartHistory, finishedAtMs: number): RestartHistory {
  const first = tryStart(history, finishedAtMs, endedAt(finishedAtMs));
  const decision =
    first.kind === "wait" ? tryStart(history, first.untilMs, endedAt(finishedAtMs)) : first;
  if (decision.kind === "wait" || decision.nextDelayMs === undefined) return history;
  const nowMs = first.kind === "wait" ? first.untilMs : finishedAtMs;
  return countRestart(history, { pod, container: web, nowMs }, decision.nextDelayMs);
}

test("a container that fails at once waits twice as long each time, up to five minutes", () => {
  const waits: number[] = [];
  let history: RestartHistory = new Map();
  let nowMs = 0;
  for (let round = 0; round < 8; round++) {
    const decision = tryStart(history, nowMs, endedAt(nowMs));
    const waitMs = decision.kind === "wait" ? decision.untilMs - nowMs : 0;
    waits.push(waitMs / 1000);
    history = restartAfter(history, nowMs);
    nowMs += waitMs;
  }
  expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test("the wait says how long it is and for whom", () => {
  const history = restartAfter(restartAfter(new Map(), 0), 0);
  expect(tryStart(history, 10_000, endedAt(10_000))).toEqual({
    kind: "wait",
    untilMs: 30_000,
    message: "back-off 20s restarting failed container=web pod=shop_default(uid-1)",
  });
});

test("ten minutes without a failure, or another image, start over", () => {
  const history = restartAfter(restartAfter(new Map(), 0), 0);
  expect(tryStart(history, 611_000, endedAt(611_000)).kind).toBe("start");
  expect(tryStart(history, 10_000, endedAt(10_000), { ...web, image: "web:2" }).kind).toBe("start");
});

test("a container that never ended starts at once and leaves no trace", () => {
  expect(tryStart(new Map(), 0, runningContainer(web))).toEqual({ kind: "start" });
});

test("a container whose end has no time starts at once", () => {
  const history = restartAfter(new Map(), 0);
  expect(tryStart(history, 0, exitedContainer(web, 1)).kind).toBe("start");
});

test("pruning drops what is too old to matter", () => {
  const history = restartAfter(new Map(), 0);
  expect(pruneRestartHistory(history, 600_000)).toEqual(history);
  expect(pruneRestartHistory(history, 600_001).size).toBe(0);
});

test("the key changes with the resources but not with their order", () => {
  expect(keyWith({ cpu: "1", memory: "1Gi" })).toBe(keyWith({ memory: "1Gi", cpu: "1" }));
  expect(keyWith({ cpu: "1" })).not.toBe(keyWith({ cpu: "2" }));
});

function keyWith(limits: Readonly<Record<string, string>>): string {
  return backoffKey(pod, { ...web, resources: { limits } });
}
