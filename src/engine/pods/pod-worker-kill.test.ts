import { expect, test } from "vitest";
import type { PodUpdate } from "../../core/worker/pod-update.ts";
import type { Pod } from "../../model/pod.ts";
import { killPodAndWait } from "./pod-worker-kill.ts";

const pod: Pod = {
  metadata: { name: "a", namespace: "ns", uid: "1" },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
};

function setUp(
  updatePod: (update: PodUpdate) => void,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
) {
  const told: string[] = [];
  const killer = {
    workers: { updatePod },
    clock: { nowMs: () => 0, monotonicMs: () => 0, sleep },
    events: { record: (_pod: unknown, { reason }: { reason: string }) => void told.push(reason) },
  };
  return { killer, told };
}

function untilAborted(_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

test("a kill is over when the worker says so", async () => {
  const { killer, told } = setUp((update) => update.kill?.onCompleted?.(), untilAborted);
  await killPodAndWait(killer, pod, { evict: true }, new AbortController().signal);
  expect(told).toEqual([]);
});

test.each([
  { graceSeconds: undefined, waitMs: 45_000 },
  { graceSeconds: 1, waitMs: 10_000 },
])("with grace $graceSeconds a kill may take $waitMs ms", async ({ graceSeconds, waitMs }) => {
  const waited: number[] = [];
  const { killer, told } = setUp(
    () => undefined,
    (ms) => {
      waited.push(ms);
      return Promise.resolve();
    },
  );
  const killing = killPodAndWait(killer, pod, { graceSeconds }, new AbortController().signal);
  await expect(killing).rejects.toThrow("timeout waiting to kill pod");
  expect(waited).toEqual([waitMs]);
  expect(told).toEqual(["ExceededGracePeriod"]);
});

test("an aborted wait is not a timeout", async () => {
  const { killer, told } = setUp(() => undefined, untilAborted);
  const controller = new AbortController();
  const killing = killPodAndWait(killer, pod, {}, controller.signal);
  controller.abort(new Error("stopping"));
  await expect(killing).rejects.toThrow("stopping");
  expect(told).toEqual([]);
});
