import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { SourceUpdate } from "../../core/source/merge-source.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSource, SourceProblem, SourceSnapshot } from "../../ports/pod-source.ts";
import { LocalObjects } from "./local-objects.ts";
import { SourceIntake } from "./source-intake.ts";

function podOf(name: string, uid: string): Pod {
  return buildPod({ metadata: { name, namespace: "default", uid }, spec: { containers: [] } });
}

type Delivery = Partial<Pick<SourceSnapshot, "pods" | "problems" | "unknownFields">>;

function takeIn(
  pods: readonly Pod[],
  unknownFields: readonly SourceProblem[] = [],
): ReturnType<typeof takeAll> {
  return takeAll([{ pods, unknownFields }]);
}

/** What became of the sets that a source delivered one after the other. */
async function takeAll(deliveries: readonly Delivery[]): Promise<{
  readonly updates: readonly SourceUpdate[];
  readonly intake: SourceIntake;
  readonly warnings: readonly unknown[];
}> {
  const source: PodSource = {
    name: "file",
    run: ({ deliver }) => {
      const empty = { pods: [], configMaps: [], secrets: [], problems: [], ignored: [] };
      for (const delivery of deliveries) deliver({ ...empty, ...delivery });
      return Promise.resolve();
    },
  };
  const updates: SourceUpdate[] = [];
  const warnings: unknown[] = [];
  const quiet = (): undefined => undefined;
  const intake = new SourceIntake({
    faults: loudFaults,
    sources: [source],
    localObjects: new LocalObjects(),
    memory: { restore: (pod) => pod },
    clock: new VirtualClock(),
    log: {
      ...silentLog,
      warn: (message, fields) => void warnings.push({ message, ...fields }),
    },
    events: { record: quiet },
    loop: { deliver: (update) => void updates.push(update), requestSyncAll: quiet },
    storage: { retryPods: quiet },
  });
  await intake.run(new AbortController().signal);
  return { updates, intake, warnings };
}

test.each(["../../etc", "..", "a/b", "", "x\u0000y", "-rf"])(
  "a pod whose UID is %j is kept out and reported, the others come in",
  async (uid) => {
    const { updates, intake } = await takeIn([podOf("bad", uid), podOf("good", "uid-1")]);
    expect(updates.flatMap(({ pods }) => pods.map(({ metadata }) => metadata.name))).toEqual([
      "good",
    ]);
    expect(intake.problems).toMatchObject([{ origin: "default/bad", field: "metadata.uid" }]);
  },
);

test("a field that does not exist is logged by name, and does not refuse the pod", async () => {
  const field = "spec.hostnetwork";
  const unknown = { origin: "a.yaml", field, message: "unknown field spec.hostnetwork" };
  const { updates, intake, warnings } = await takeIn([podOf("good", "uid-1")], [unknown]);
  expect(updates.flatMap(({ pods }) => pods)).toHaveLength(1);
  expect(intake.problems).toEqual([]);
  expect(warnings).toMatchObject([{ origin: "a.yaml", field }]);
});

test("a problem is logged when it comes, not with every change beside it", async () => {
  const bad = { origin: "bad.yaml", message: "not YAML" };
  const worse = { origin: "worse.yaml", message: "not YAML" };
  const unknown = { origin: "a.yaml", field: "spec.x", message: "unknown field spec.x" };
  const { warnings, intake } = await takeAll([
    { problems: [bad], unknownFields: [unknown] },
    { problems: [bad, worse], unknownFields: [unknown] },
    { problems: [worse] },
    { problems: [bad, worse], unknownFields: [unknown] },
  ]);
  const came = { message: "not YAML", origin: "bad.yaml" };
  const field = { origin: "a.yaml", field: "spec.x" };
  expect(warnings).toMatchObject([came, field, { origin: "worse.yaml" }, came, field]);
  expect(intake.problems).toEqual([bad, worse]);
});
