import fc from "fast-check";
import { expect, test } from "vitest";
import { anyPod } from "../../../test/kit/any-plan-input.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { terminationOrder } from "./termination-order.ts";

const podAndRunning = anyPod.chain((pod) => {
  const { initContainers = [], containers } = pod.spec;
  const names = [...initContainers, ...containers].map(({ name }) => name);
  return fc.record({ pod: fc.constant(pod), running: fc.shuffledSubarray(names) });
});

function sidecarsOf(pod: Pod): string[] {
  return (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
}

test("a sidecar ends after every regular container that runs", () => {
  fc.assert(
    fc.property(podAndRunning, ({ pod, running }) => {
      const order = terminationOrder(pod, running);
      const regular = pod.spec.containers.map(({ name }) => name);
      for (const sidecar of sidecarsOf(pod).filter((name) => running.includes(name))) {
        expect(order.get(sidecar)).toEqual(
          expect.arrayContaining(regular.filter((name) => running.includes(name))),
        );
      }
    }),
  );
});

test("only sidecars wait, and only for containers that run", () => {
  fc.assert(
    fc.property(podAndRunning, ({ pod, running }) => {
      const sidecars = sidecarsOf(pod);
      const order = terminationOrder(pod, running);
      expect([...order.keys()].toSorted()).toEqual(running.toSorted());
      for (const [name, earlier] of order) {
        expect(sidecars.includes(name) || earlier.length === 0).toBe(true);
        expect(earlier.filter((other) => !running.includes(other))).toEqual([]);
      }
    }),
  );
});

test("running sidecars end in reverse order and everything ends", () => {
  fc.assert(
    fc.property(podAndRunning, ({ pod, running }) => {
      const ended = endAll(terminationOrder(pod, running));
      expect(ended.toSorted()).toEqual(running.toSorted());
      const sidecars = sidecarsOf(pod);
      fc.pre(sidecars.every((name) => running.includes(name)));
      expect(ended.filter((name) => sidecars.includes(name))).toEqual(sidecars.toReversed());
    }),
  );
});

/** Ends whatever waits for nothing any more, until nothing is left or all wait for each other. */
function endAll(order: ReadonlyMap<string, readonly string[]>): string[] {
  const ended: string[] = [];
  for (;;) {
    const next = [...order].find(
      ([name, earlier]) => !ended.includes(name) && earlier.every((other) => ended.includes(other)),
    );
    if (next === undefined) return ended;
    ended.push(next[0]);
  }
}
