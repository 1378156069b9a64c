import { expect, test } from "vitest";
import type { Event } from "../../model/generated/kubernetes.ts";
import { EventCorrelator } from "./event-correlator.ts";

const secondNs = 1_000_000_000n;

function event(message: string, name = "web"): Event {
  return {
    metadata: { name: `${name}.1`, namespace: "ns" },
    involvedObject: { kind: "Pod", namespace: "ns", name, uid: name },
    reason: "BackOff",
    message,
    type: "Warning",
    source: { component: "kubelet", host: "node-a" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
  };
}

test("a count continues from what the server holds", () => {
  const correlator = new EventCorrelator();
  correlator.recorded({ ...event("m"), metadata: { name: "web.old", namespace: "ns" }, count: 7 });
  expect(correlator.correlate(event("m"), 0n)).toMatchObject({
    kind: "patch",
    event: { metadata: { name: "web.old" } },
    patch: { count: 8, message: "m" },
  });
});

test("an event without words is patched without words", () => {
  const correlator = new EventCorrelator();
  correlator.correlate(event(""), 0n);
  expect(correlator.correlate(event(""), secondNs)).toMatchObject({
    patch: { count: 2, lastTimestamp: "2026-01-01T00:00:00Z" },
  });
  expect(correlator.correlate(event(""), secondNs)).not.toHaveProperty("patch.message");
});

test("similar events stand alone again after ten quiet minutes", () => {
  const correlator = new EventCorrelator({ similarEvents: 2 });
  const messageOf = (message: string, nowNs: bigint): string | undefined => {
    const correlated = correlator.correlate(event(message), nowNs);
    return correlated.kind === "skip" ? undefined : correlated.event.message;
  };
  expect(messageOf("one", 0n)).toBe("one");
  expect(messageOf("two", secondNs)).toBe("(combined from similar events): two");
  expect(messageOf("three", 601n * secondNs)).toBe("(combined from similar events): three");
  expect(messageOf("four", 1202n * secondNs)).toBe("four");
});

test("an object that talks too much does not silence another", () => {
  const correlator = new EventCorrelator({ burst: 2 });
  const kinds = ["web", "web", "web", "db"].map(
    (name) => correlator.correlate(event("m", name), 0n).kind,
  );
  expect(kinds).toEqual(["create", "patch", "skip", "create"]);
});
