import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { admitted } from "../../core/admission/admission.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { PodAdmission, type PodAdmissionDeps } from "./pod-admission.ts";

interface Decided {
  readonly admitted: boolean;
  readonly statuses: ReadonlyMap<string, PodStatus>;
  readonly events: readonly PodEvent[];
}

/** Asks a node with nothing on it whether it takes a pod. */
function decide(pod: Pod, isHere = false): Decided {
  const statuses = new Map<string, PodStatus>();
  const events: PodEvent[] = [];
  const quiet = (): undefined => undefined;
  const table = new PodTable();
  const deps: PodAdmissionDeps = {
    table,
    wakeups: { askToStart: quiet },
    faults: loudFaults,
    registry: new PodRegistry(table),
    workers: {
      isPodKnownTerminated: () => false,
      stateOf: quiet,
      killPod: () => Promise.resolve(),
    },
    statuses: {
      get: (uid) => statuses.get(uid),
      set: ({ metadata }, status) => void statuses.set(metadata.uid, status),
    },
    admitUnderPressure: () => admitted,
    facts: () => ({
      node: { metadata: { name: "n" }, status: { allocatable: { pods: "9" } } },
      sysctls: { names: new Map(), prefixes: new Map() },
      appArmorEnabled: false,
    }),
    allocations: { admit: (asked) => admission.fits(asked, []), grant: quiet },
    clock: new VirtualClock(),
    log: silentLog,
    events: { record: (_, event) => void events.push(event) },
    isHere: () => isHere,
    lifetime: new AbortController().signal,
    metrics: noMetrics,
  };
  const admission = new PodAdmission(deps);
  return { admitted: admission.admit(pod), statuses, events };
}

const unhonoured = testPod({
  containers: [{ name: "web" }],
  volumes: [{ name: "share", nfs: { server: "files.example", path: "/" } }],
});
const message =
  "spec.volumes[0].nfs: not supported by this node; mount it on the node and use hostPath";

test("a pod that uses a field that this node cannot honour has failed, by that field", () => {
  const { admitted, statuses, events } = decide(unhonoured);
  expect(admitted).toBe(false);
  expect(statuses.get("uid-1")).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedField",
    message: `Pod was rejected: ${message}`,
  });
  expect(events).toEqual([{ type: "Warning", reason: "UnsupportedField", message }]);
});

test("a pod that already runs here is not asked again", () => {
  expect(decide(unhonoured, true)).toMatchObject({ admitted: true, events: [] });
});
