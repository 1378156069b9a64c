import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import { type ApiTraceRequest, recordedRequests, userPatch } from "./api-trace.ts";
import { normaliseApiValue } from "./api-values.ts";
import { compareCalls } from "./compare-calls.ts";
import { compareRequests, namespaceRequests } from "./compare-requests.ts";
import { type Difference, valueDifferences } from "./difference.ts";
import { at } from "./json-path.ts";
import { KnownNames, type TraceFolders } from "./known-names.ts";
import { type Hooks, type PodCalls, podCalls } from "./pod-calls.ts";
import { type PodRequests, partsOf, podRequests } from "./pod-requests.ts";
import { recordedFolders } from "./recorded-node.ts";
import type { Json, Recording } from "./recording.ts";
import { type ScenarioRun, scenarioNamespace } from "./run-scenario.ts";
import { scenarioSteps } from "./scenario-steps.ts";
import { isRestart } from "./scenarios.ts";
import { recordedTrace } from "./trace.ts";

/** One difference, with the pod it is about. */
export interface ScenarioDifference extends Difference {
  /** Empty for what is about the whole namespace. */
  readonly pod: string;
}

export interface Comparison {
  readonly calls: number;
  readonly requests: number;
  readonly differences: readonly ScenarioDifference[];
}

const NO_CALLS: PodCalls = { inOrder: [], removals: [] };
const NO_REQUESTS: PodRequests = {
  patches: [],
  statusParts: new Map(),
  deletions: [],
  creations: [],
  events: {},
};

/** One side of a comparison. */
interface Side {
  readonly names: KnownNames;
  readonly requests: readonly ApiTraceRequest[];
  readonly initial: ReadonlyMap<string, PodStatus>;
}

/** Compares what Berth did in a scenario with what the recorded kubelet did. */
export function compareScenario(
  recording: Recording,
  run: ScenarioRun,
  folders: TraceFolders,
): Comparison {
  const calls = compareAllCalls(recording, run, folders);
  const isText = recording.api.every(({ body }) => at(body, "_raw_base64") === undefined);
  const recorded: Side = {
    names: new KnownNames(recordedTrace(recording.cri), recordedFolders),
    requests: readable(allRequests(recording), isText),
    initial: initialStatuses(recording, run),
  };
  const berth: Side = {
    names: new KnownNames(run.calls, folders),
    requests: readable(run.requests, isText),
    initial: run.initial,
  };
  return {
    calls: calls.count,
    requests: recording.api.length,
    differences: [
      ...calls.differences,
      ...compareAllRequests(scenarioNamespace(recording), recorded, berth),
      ...compareSnapshots(recording, run, recorded.names, berth.names),
    ],
  };
}

function compareAllCalls(
  recording: Recording,
  { calls }: ScenarioRun,
  folders: TraceFolders,
): { readonly count: number; readonly differences: readonly ScenarioDifference[] } {
  const hooks = preStopHooks(recording);
  const recorded = podCalls(recordedTrace(recording.cri), recordedFolders, hooks);
  const berth = podCalls(calls, folders, hooks);
  const own = `${scenarioNamespace(recording)}/`;
  const pods = [...new Set([...recorded.keys(), ...berth.keys()])].filter((pod) =>
    pod.startsWith(own),
  );
  const removals = !isRestart(recording.scenario);
  return {
    count: pods.reduce((count, pod) => count + callCount(recorded.get(pod) ?? NO_CALLS), 0),
    differences: pods.flatMap((pod) =>
      compareCalls(recorded.get(pod) ?? NO_CALLS, berth.get(pod) ?? NO_CALLS, { removals }).map(
        (difference) => ({ ...difference, pod: pod.slice(own.length) }),
      ),
    ),
  };
}

function callCount({ inOrder, removals }: PodCalls): number {
  return inOrder.length + removals.length;
}

function compareAllRequests(
  namespace: string,
  left: Side,
  right: Side,
): readonly ScenarioDifference[] {
  const byPod = ({ requests, initial, names }: Side): ReadonlyMap<string, PodRequests> =>
    podRequests(requests, namespace, initial, names);
  const recorded = byPod(left);
  const berth = byPod(right);
  const pods = [...new Set([...recorded.keys(), ...berth.keys()])];
  const shared = valueDifferences(
    "api",
    namespaceRequests(left.requests, namespace, left.names),
    namespaceRequests(right.requests, namespace, right.names),
  );
  return [
    ...pods.flatMap((pod) =>
      compareRequests(recorded.get(pod) ?? NO_REQUESTS, berth.get(pod) ?? NO_REQUESTS).map(
        (difference) => ({ ...difference, pod }),
      ),
    ),
    ...shared.map((difference) => ({ ...difference, pod: "" })),
  ];
}

/** The whole status of every pod right before it was deleted. */
function compareSnapshots(
  { podSnapshots, scenario }: Recording,
  { deleted }: ScenarioRun,
  recordedNames: KnownNames,
  berthNames: KnownNames,
): readonly ScenarioDifference[] {
  if (isRestart(scenario)) return [];
  return podSnapshots
    .filter(({ when, pod }) => when === "before delete" && deleted.has(pod.metadata.name))
    .flatMap(({ pod: { metadata, status } }) =>
      valueDifferences(
        "before deletion",
        snapshot(status, recordedNames),
        snapshot(deleted.get(metadata.name)?.status, berthNames),
      ).map((difference) => ({ ...difference, pod: metadata.name })),
    );
}

function snapshot(status: PodStatus | undefined, names: KnownNames): Json {
  const parts = partsOf(normaliseApiValue(JSON.parse(JSON.stringify(status ?? {})) as Json, names));
  // The cgroup of a pod that has ended is being removed, and resources are read from it.
  if (parts.get("phase") !== "Running") parts.delete("resources");
  return Object.fromEntries(parts);
}

/** Patches are always text; other bodies cannot be compared where the recorded ones are protobuf. */
function readable(
  requests: readonly ApiTraceRequest[],
  isText: boolean,
): readonly ApiTraceRequest[] {
  return isText
    ? requests
    : requests.filter(
        ({ method, path }) => ["GET", "PATCH"].includes(method) && !path.includes("/events/"),
      );
}

/** The kubelet's requests and the driver's own changes of statuses. */
function allRequests(recording: Recording): readonly ApiTraceRequest[] {
  const namespace = scenarioNamespace(recording);
  const byUser = scenarioSteps(recording.actions).flatMap(({ step, atSeconds }) => {
    if (step.kind !== "patch" || !step.isOfStatus) return [];
    const path = `/api/v1/namespaces/${namespace}/pods/${step.pod}/status`;
    return [{ ...userPatch(path, step.patch), atSeconds }];
  });
  return [...recordedRequests(recording.api), ...byUser].toSorted(
    (a, b) => a.atSeconds - b.atSeconds,
  );
}

function initialStatuses(
  recording: Recording,
  { initial }: ScenarioRun,
): ReadonlyMap<string, PodStatus> {
  if (!isRestart(recording.scenario)) return initial;
  const deleted = new Set(
    scenarioSteps(recording.actions).flatMap(({ step }) =>
      step.kind === "delete" ? [step.pod] : [],
    ),
  );
  return new Map(
    recording.podSnapshots
      .filter(({ when }) => when === "before restart")
      .map(({ pod: { metadata, status = {} } }) => [
        metadata.name,
        deleted.has(metadata.name) ? afterDeletion(status) : status,
      ]),
  );
}

/** The status was read before the pod was deleted, and then the node took note of that. */
function afterDeletion(status: PodStatus): PodStatus {
  const conditions = status.conditions?.map((condition) => ({
    ...condition,
    observedGeneration: 2,
  }));
  return { ...status, observedGeneration: 2, conditions };
}

function preStopHooks({ manifests }: Recording): Hooks {
  const containers = manifests.flatMap((manifest) =>
    manifest.kind === "Pod"
      ? [...manifest.spec.containers, ...(manifest.spec.initContainers ?? [])]
      : [],
  );
  const commands = containers.map(({ lifecycle }) => lifecycle?.preStop?.exec?.command);
  return new Set(commands.map((command) => JSON.stringify(command ?? [])));
}
