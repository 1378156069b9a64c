import type { SimContainer } from "../../../src/drivers/sim/sim-container.ts";
import { ContainerState } from "../../../src/model/generated/cri.ts";
import { containerNameLabel, podUidLabel } from "../../../src/model/labels.ts";
import { type Pod, podFullName } from "../../../src/model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../../src/model/pod-source.ts";
import { deviceProblems } from "./devices/device-problems.ts";
import { label } from "./invariants.ts";
import type { Simulation } from "./simulation.ts";
import { containerStatuses } from "./status-history.ts";
import { storageLeftovers, storageProblems } from "./storage/storage-problems.ts";

/** What is not yet as it is wanted; empty once everything is. */
export async function unconverged(sim: Simulation): Promise<readonly string[]> {
  const shown = sim.shownPods();
  const uids = new Set(shown.map(({ metadata }) => metadata.uid));
  const wantedPods = [...sim.manifests.pods, ...(sim.cluster?.ownPods ?? [])];
  const wantedUids = new Set(wantedPods.map(({ metadata }) => metadata.uid));
  // Of two manifests with one name only one is a pod.
  const wanted = new Set(wantedPods.map(podFullName));
  const shownNames = new Set(shown.map(podFullName));
  return [
    ...[...wanted].filter((name) => !shownNames.has(name)).map((name) => `${name} is not shown`),
    ...shown
      .filter(({ metadata }) => !wantedUids.has(metadata.uid))
      .map(({ metadata }) => `${metadata.name} is still shown, or as it was wanted before`),
    ...shown.flatMap((pod) => problemsOf(sim, pod)),
    ...(await endingPods(sim, shown)),
    ...(await remainsOfOthers(sim, uids)),
    ...apiProblems(sim, shown),
    ...storageProblems(sim, shown),
    ...(await deviceProblems(sim, shown)),
  ];
}

/** A static pod that came back is shown as it was, also while its first life still ends. */
async function endingPods(sim: Simulation, shown: readonly Pod[]): Promise<readonly string[]> {
  const { signal } = new AbortController();
  const states = shown.map(async ({ metadata }) => {
    const explained = await sim.agent?.view.explain(metadata.uid, signal);
    const state = explained?.workerState;
    // The next sync would start it too, a minute later.
    if (state === "wait-to-start" && explained?.awaiting.length === 0) {
      sim.fail(`${metadata.name} waits to start, and for nothing`);
    }
    return state === "terminating" ? [`${metadata.name} is ${state}`] : [];
  });
  return (await Promise.all(states)).flat();
}

/** What is left on the machine of pods that are not shown. */
async function remainsOfOthers(
  { machine }: Simulation,
  uids: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { runtime, cgroups, mounts, files } = machine;
  const isOthers = (path: string): boolean => {
    const uid = /pods?\/?([0-9a-f-]{32,36})/.exec(path)?.[1];
    return uid !== undefined && !uids.has(uid);
  };
  return [
    ...runtime.sandboxes
      .filter(({ config }) => !uids.has(config.metadata?.uid ?? ""))
      .map(({ id }) => `sandbox ${id}`),
    ...runtime.containers
      .filter((container) => !uids.has(label(container, podUidLabel)))
      .map(({ place }) => `container ${place.id}`),
    ...cgroups.paths.filter(isOthers),
    ...mounts.paths.filter(isOthers),
    ...(await files.list("/sim/pods"))
      .filter((uid) => !uids.has(uid))
      .map((uid) => `folder ${uid}`),
  ].map((what) => `unwanted: ${what}`);
}

function problemsOf(sim: Simulation, pod: Pod): readonly string[] {
  const { uid, name } = pod.metadata;
  const { phase } = pod.status ?? {};
  if (pod.metadata.deletionTimestamp !== undefined) return [`${name} still ends`];
  const running = new Set(runningIds(sim, uid));
  if (phase === "Succeeded" || phase === "Failed") {
    return running.size > 0 ? [`${name} is ${phase} and runs`] : [];
  }
  const wrong = containerStatuses(pod)
    .filter(({ state, containerID = "" }) => {
      const isRunning = running.has(containerID.replace(/^.*:\/\//, ""));
      return (state?.running !== undefined) !== isRunning;
    })
    .map((status) => `${name}/${status.name} is shown as ${JSON.stringify(status.state)}`);
  wrong.push(...overtaken(sim, uid).map((id) => `${name} has ${id}, which has a successor`));
  const ready = sim.machine.runtime.sandboxes.filter(
    ({ config, isReady }) => config.metadata?.uid === uid && isReady,
  );
  // As with a kubelet, a pod that is never restarted gets no second sandbox, however far it had come.
  const hasRun = containerStatuses(pod).some(({ containerID }) => containerID !== undefined);
  const isLost = pod.spec.restartPolicy === "Never" && ready.length === 0 && hasRun;
  const [sandbox] = ready;
  if (sandbox !== undefined && !isLost && pod.status?.podIP !== sandbox.ip) {
    wrong.push(`${name} is shown with ${pod.status?.podIP} for ${sandbox.ip}`);
  }
  if (ready.length === 1 || isLost) return wrong;
  return [...wrong, `${name} has ${ready.length} sandboxes`];
}

/** The leftover of a call that timed out and completed later stays until the agent syncs the pod. */
function overtaken({ machine }: Simulation, uid: string): readonly string[] {
  const own = machine.runtime.containers.filter((each) => label(each, podUidLabel) === uid);
  const attempt = ({ config }: SimContainer): number => config.metadata?.attempt ?? 0;
  return own
    .filter(({ state }) => state === ContainerState.CONTAINER_CREATED)
    .filter((late) =>
      own.some(
        (other) =>
          label(other, containerNameLabel) === label(late, containerNameLabel) &&
          (other.state === ContainerState.CONTAINER_RUNNING || attempt(other) > attempt(late)),
      ),
    )
    .map(({ place }) => place.id);
}

/** What the API server shows must be what the agent shows. */
function apiProblems({ cluster }: Simulation, shown: readonly Pod[]): readonly string[] {
  if (cluster === undefined) return [];
  const inApi = new Map(cluster.pods.map((pod) => [podFullName(pod), pod]));
  const known = new Set(shown.map(podFullName));
  const problems = [...inApi.values()]
    .filter((pod) => isMirrorPod(pod) && !known.has(podFullName(pod)))
    .map((pod) => `the mirror pod ${pod.metadata.name} is left`);
  for (const pod of shown) {
    const { name } = pod.metadata;
    const shown = inApi.get(podFullName(pod));
    if (shown === undefined) problems.push(`${name} is not in the API server`);
    else if (shown.metadata.deletionTimestamp !== undefined) problems.push(`${name} does not end`);
    else if (isStaticPod(pod) !== isMirrorPod(shown)) problems.push(`${name} is another there`);
    else if (essence(shown) !== essence(pod)) {
      problems.push(`the API server has ${essence(shown)} for ${essence(pod)}`);
    }
  }
  return problems;
}

function essence(pod: Pod): string {
  const { phase, podIP, conditions = [] } = pod.status ?? {};
  const containers = containerStatuses(pod).map(({ name, ready, restartCount, state = {} }) => {
    const states = Object.entries(state).filter(([, each]) => each !== undefined);
    return `${name} ${ready} ${restartCount} ${states.map(([kind]) => kind).join()}`;
  });
  const ready = conditions.find(({ type }) => type === "Ready")?.status;
  return `${pod.metadata.name}: ${phase} ${podIP} ${ready} [${containers.join("; ")}]`;
}

/** What is left on the machine, where nothing should be. */
export async function leftovers(sim: Simulation): Promise<readonly string[]> {
  const { runtime, cgroups, mounts, files } = sim.machine;
  return [
    ...runtime.sandboxes.map(({ id }) => `sandbox ${id}`),
    ...runtime.containers.map(({ place }) => `container ${place.id}`),
    ...cgroups.paths.filter((path) => path.includes("pod", "/kubepods".length)),
    ...mounts.paths,
    ...(await files.list("/sim/pods")).map((uid) => `folder of ${uid}`),
    ...(await files.list("/sim/statuses")).map((name) => `status ${name}`),
    ...(await files.list("/sim/ephemeral")).map((name) => `ephemeral containers ${name}`),
    ...(await files.list("/sim-logs")).map((name) => `logs ${name}`),
    ...sim.shownPods().map(({ metadata }) => `shown ${metadata.name}`),
    ...(sim.cluster?.pods ?? []).map(({ metadata }) => `in the API server ${metadata.name}`),
    ...sim.openCalls().map((call) => `open ${call}`),
    ...storageLeftovers(sim),
    ...(await deviceProblems(sim, [])),
  ];
}

/** Nothing of it will change by itself. */
export function isSteady(sim: Simulation, pod: Pod): boolean {
  const { status = {}, spec } = pod;
  // A container may have ended, or a sandbox be stopped, a moment ago: its pod changes without a restart.
  if (problemsOf(sim, pod).length > 0) return false;
  if (status.phase === "Succeeded" || status.phase === "Failed") {
    return !sim.machine.runtime.sandboxes.some(
      ({ config, isReady }) => config.metadata?.uid === pod.metadata.uid && isReady,
    );
  }
  const probes = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(
    ({ livenessProbe, readinessProbe, startupProbe }) =>
      [livenessProbe, readinessProbe, startupProbe].filter((probe) => probe !== undefined),
  );
  const isWell = probes.every(({ exec }) => exec?.command?.[1] === "0");
  const isReady = status.conditions?.some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
  const states = [...containerStatuses(pod), ...(status.ephemeralContainerStatuses ?? [])];
  const isRunning = (status.containerStatuses ?? []).every(
    ({ state }) => state?.running !== undefined,
  );
  const endsSoon = sim.invariants
    .runningOf(pod.metadata.uid)
    .some(
      ({ program, stopsInProgress }) => program.endsAfterMs !== undefined || stopsInProgress > 0,
    );
  return (
    isWell &&
    isReady === true &&
    isRunning &&
    !endsSoon &&
    states.every(({ state }) => !state?.waiting)
  );
}

export function runningIds(sim: Simulation, uid: string): readonly string[] {
  return sim.invariants.running
    .filter((container) => label(container, podUidLabel) === uid)
    .map(({ place }) => place.id);
}
