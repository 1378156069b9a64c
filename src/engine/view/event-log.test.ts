import { expect, test } from "vitest";
import { testHistory } from "../../../test/kit/test-history.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { podUid } from "../../model/ids.ts";
import type { PodReference } from "../../ports/pod-events.ts";
import { PodTable } from "../pods/pod-table.ts";
import { EventLog } from "./event-log.ts";

const uid1 = podUid("1");

const pod: PodReference = { metadata: { name: "a", namespace: "ns", uid: uid1 } };

function newLog(): EventLog {
  return new EventLog({
    table: new PodTable(),
    clock: new VirtualClock(),
    host: "node",
    history: testHistory(),
    sender: undefined,
  });
}

test("a pod keeps its last hundred events", () => {
  const log = newLog();
  for (let index = 0; index < 150; index += 1) {
    log.record(pod, { type: "Normal", reason: "Pulled", message: `message ${index}` });
  }
  expect(log.list(uid1)).toHaveLength(100);
  expect(log.list(uid1).at(-1)?.message).toBe("message 149");
});

test("a pod keeps no more than 64 KiB of messages", () => {
  const log = newLog();
  for (let index = 0; index < 50; index += 1) {
    const message = `${index} ${"x".repeat(10 * 1024)}`;
    log.record(pod, { type: "Warning", reason: "Unhealthy", message });
  }
  expect(log.list(uid1)).toHaveLength(6);
  log.record(pod, { type: "Warning", reason: "Unhealthy", message: "x".repeat(100_000) });
  expect(log.list(uid1)).toHaveLength(1);
});
