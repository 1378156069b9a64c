import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { ApiTraceRequest } from "./api-trace.ts";
import { createdPod } from "./created-pod.ts";
import type { GoldenWorld } from "./golden-world.ts";
import { recordedRegistry } from "./images.ts";
import type { TraceFolders } from "./known-names.ts";
import { podCalls } from "./pod-calls.ts";
import { isResized, meetsCondition } from "./pod-condition.ts";
import { recordedFolders, recordedServiceIp } from "./recorded-node.ts";
import type { Json, RecordedManifest, RecordedPod, Recording } from "./recording.ts";
import { type ScenarioStep, scenarioSteps } from "./scenario-steps.ts";
import { waitAdjustmentsMs } from "./scenarios.ts";
import { observedTrace, recordedTrace, type TracedCall } from "./trace.ts";

const POLL_MS = 50;
const CONDITION_TIMEOUT_MS = 90_000;
// The recorded kubelet was stopped while it stopped a container.
const BEFORE_STOP_MS = 2_000;
// Berth restarts a container when its back-off of ten seconds ends; the recorded kubelet looked some seconds later.
const SETTLE_SECONDS = 7;
const CATCH_UP_MS = 20_000;
const START_CALLS: ReadonlySet<string> = new Set([
  "RunPodSandbox",
  "CreateContainer",
  "StartContainer",
]);
const COMMAND_TIMEOUT_MS = 10_000;

/** What Berth did in a scenario. */
export interface ScenarioRun {
  readonly calls: readonly TracedCall[];
  readonly requests: readonly ApiTraceRequest[];
  /** By name: the statuses that pods had when the requests began. */
  readonly initial: ReadonlyMap<string, PodStatus>;
  /** By name: pods as they were right before they were deleted. */
  readonly deleted: ReadonlyMap<string, Pod>;
}

/** Does on Berth what was done in a recording; resolves when nothing of its pods is left. */
export async function runScenario(world: GoldenWorld, recording: Recording): Promise<ScenarioRun> {
  const scenario = new Scenario(world, recording);
  const before = { calls: world.calls.length, requests: world.api.requests.length };
  for (const { step, atSeconds } of scenarioSteps(recording.actions)) {
    if (step.kind === "delete") await scenario.catchUp(step.pod, atSeconds);
    await scenario.perform(step);
  }
  await scenario.finish();
  const { initial, deleted } = scenario;
  const calls = observedTrace(world.calls.slice(before.calls));
  return { calls, requests: world.api.requests.slice(before.requests), initial, deleted };
}

/** As runScenario for a recording that begins with a restart: from then on, for at least that many seconds. */
export async function runRestart(
  world: GoldenWorld,
  recording: Recording,
  seconds: number,
): Promise<ScenarioRun> {
  const scenario = new Scenario(world, recording);
  const steps = scenarioSteps(recording.actions);
  for (const { step } of steps.slice(0, -1)) {
    const isLong = step.kind === "wait" && step.seconds > SETTLE_SECONDS;
    await scenario.perform(isLong ? { kind: "wait", seconds: SETTLE_SECONDS } : step);
  }
  const initial = scenario.statuses();
  const before = { calls: world.calls.length, requests: world.api.requests.length };
  for (const { step } of steps.slice(-1)) await scenario.perform(step);
  await delay(seconds * 1000);
  // On a slow machine it takes longer until pods that are being deleted have ended.
  for (const pod of scenario.deleted.keys()) {
    await scenario.perform({ kind: "await", pod, condition: "gone from API" });
  }
  const calls = observedTrace(world.calls.slice(before.calls));
  const requests = world.api.requests.slice(before.requests);
  await scenario.removeAll();
  return { calls, requests, initial, deleted: new Map() };
}

/** Makes the pods of a recording, waits for what was waited for, and removes them after `use`. */
export async function withPods<T>(
  world: GoldenWorld,
  recording: Recording,
  use: () => Promise<T>,
): Promise<T> {
  const scenario = new Scenario(world, withOtherUids(recording));
  const steps = scenarioSteps(recording.actions).map(({ step }) => step);
  const settled = steps.findIndex(({ kind }) => kind === "wait");
  try {
    for (const step of steps.slice(0, settled)) await scenario.perform(step);
    return await use();
  } finally {
    await scenario.removeAll();
  }
}

/** No two pods have one UID, also when they are made from one recording. */
export function withOtherUids(recording: Recording): Recording {
  const podSnapshots = recording.podSnapshots.map((snapshot) => {
    const metadata = { ...snapshot.pod.metadata, uid: randomUUID() };
    return { ...snapshot, pod: { ...snapshot.pod, metadata } };
  });
  return { ...recording, podSnapshots };
}

/** The namespace of a recording's pods. */
export function scenarioNamespace({ scenario, podSnapshots }: Recording): string {
  return podSnapshots[0]?.pod.metadata.namespace ?? `g-${scenario}`;
}

class Scenario {
  readonly initial = new Map<string, PodStatus>();
  readonly deleted = new Map<string, Pod>();
  readonly #world: GoldenWorld;
  readonly #recording: Recording;
  readonly #namespace: string;
  readonly #pods = new Set<string>();
  readonly #manifests: readonly RecordedPod[];
  #written = 0;

  constructor(world: GoldenWorld, recording: Recording) {
    this.#world = world;
    this.#recording = recording;
    this.#namespace = scenarioNamespace(recording);
    const snapshots = new Set(recording.podSnapshots.map(({ pod }) => pod.metadata.name));
    this.#manifests = recording.manifests.flatMap((manifest) =>
      manifest.kind === "Pod" && !snapshots.has(manifest.metadata.name) ? [manifest] : [],
    );
  }

  async perform(step: ScenarioStep): Promise<void> {
    switch (step.kind) {
      case "create":
        return this.#create(step.object, step.name);
      case "delete":
        return this.#delete(step.pod);
      case "patch":
        return this.#patch(step.pod, step.patch);
      case "write-manifest":
        await this.#world.writeManifest(this.#namespace, this.#manifests[this.#written]);
        this.#written += 1;
        return;
      case "remove-manifest":
        return this.#world.removeManifest(this.#namespace);
      case "await":
        return this.#await(step.pod, step.condition);
      case "wait":
        return delay(step.seconds * 1000 + (waitAdjustmentsMs[this.#recording.scenario] ?? 0));
      case "exec":
        return this.#exec(step.command);
      case "kill-sandbox":
        return this.#killSandbox();
      case "stop-agent":
        await delay(BEFORE_STOP_MS);
        return this.#world.stopAgent();
      case "start-agent":
        return this.#world.startAgent();
    }
  }

  /** On a slow machine: waits until Berth has come as far as the recorded kubelet had before it deleted the pod. */
  async catchUp(pod: string, atSeconds: number): Promise<void> {
    const early = this.#recording.cri.filter(({ te }) => te <= atSeconds);
    const wanted = targetsOf(recordedTrace(early.filter(isStart)), recordedFolders);
    const own = `${this.#namespace}/`;
    await until("what was started in the recording has started", CATCH_UP_MS, () => {
      const starts = this.#world.calls.filter(isStart);
      const started = targetsOf(observedTrace(starts), this.#world.folders);
      return [...wanted].every((target) => !target.startsWith(own) || started.has(target));
    }).catch(() => undefined);
    const shown = this.#recording.podSnapshots.findLast(
      (snapshot) => snapshot.pod.metadata.name === pod && snapshot.when === "before delete",
    );
    if (shown === undefined) return;
    const goal = outline(shown.pod.status);
    await until("the pod has come as far as in the recording", CATCH_UP_MS, () => {
      return outline(this.#status(pod)?.status) === goal;
    }).catch(() => undefined);
  }

  /** Waits until every sandbox of the scenario's pods has been removed. */
  async finish(): Promise<void> {
    for (const name of this.#pods) {
      const isGone = (): boolean => this.#status(name) === undefined;
      await until(`${this.#namespace}/${name} is gone`, CONDITION_TIMEOUT_MS, isGone);
    }
    await until(`${this.#namespace} left nothing`, CONDITION_TIMEOUT_MS, () =>
      this.#world.hasRemoved(this.#namespace),
    );
  }

  /** The statuses of its pods now. */
  statuses(): ReadonlyMap<string, PodStatus> {
    const pods = this.#world.api.list(this.#namespace);
    return new Map(pods.map(({ metadata, status }) => [metadata.name, status ?? {}]));
  }

  async removeAll(): Promise<void> {
    for (const name of this.#pods) this.#world.api.remove(this.#namespace, name);
    await this.#world.removeManifest(this.#namespace);
    await this.finish();
  }

  #create(kind: string, name: string): void {
    const { api } = this.#world;
    api.createNamespace(this.#namespace);
    if (kind === "Pod") {
      const isScheduled = this.#recording.events.some(
        (event) => event.reason === "Scheduled" && event.name === name,
      );
      const created = createdPod(this.#shown(name), this.#sent(name), isScheduled);
      const pod = this.#fromLocalRegistry(created);
      this.#pods.add(name);
      this.initial.set(name, pod.status ?? {});
      api.create(pod);
      return;
    }
    for (const manifest of this.#recording.manifests) {
      if (manifest.kind !== kind || manifest.metadata?.name !== name) continue;
      const object = asServed(manifest, this.#world.registryHost);
      api.put(objectPath(kind, this.#namespace, name), object);
    }
  }

  #delete(name: string): void {
    const pod = this.#status(name);
    if (pod !== undefined) this.deleted.set(name, pod);
    this.#world.api.delete(this.#namespace, name);
  }

  #shown(name: string): RecordedPod {
    const shown = this.#recording.podSnapshots.find(({ pod }) => pod.metadata.name === name);
    if (shown === undefined) throw new Error(`the recording does not show the pod ${name}`);
    return shown.pod;
  }

  #sent(name: string): RecordedPod {
    for (const manifest of this.#recording.manifests) {
      if (manifest.kind === "Pod" && manifest.metadata.name === name) return manifest;
    }
    throw new Error(`the recording has no manifest of the pod ${name}`);
  }

  #patch(name: string, patch: Json): void {
    const { ephemeralContainers } = this.#shown(name).spec;
    // The API server sets defaults in what is added.
    const added = { spec: { ephemeralContainers } } as unknown as Json;
    const change = ephemeralContainers === undefined ? patch : added;
    this.#world.api.patch(this.#namespace, name, change);
  }

  #fromLocalRegistry(pod: Pod): Pod {
    const containers = pod.spec.containers.map((container) =>
      container.imagePullPolicy === "Always"
        ? {
            ...container,
            image: container.image?.replace(recordedRegistry, this.#world.registryHost),
          }
        : container,
    );
    return { ...pod, spec: { ...pod.spec, containers } };
  }

  async #await(name: string, condition: string): Promise<void> {
    await until(`${this.#namespace}/${name} is ${condition}`, CONDITION_TIMEOUT_MS, () => {
      const pod = this.#status(name);
      if (condition === "gone from API") return pod === undefined;
      if (condition === "mirror re-created") return pod !== undefined;
      if (/^resize .*done$/.test(condition)) {
        return pod !== undefined && isResized(pod.spec, pod.status ?? {});
      }
      if (condition.startsWith("v2 ") && pod?.metadata.labels?.["v"] !== "2") return false;
      const met = meetsCondition(pod?.status ?? {}, condition);
      if (met === undefined) throw new Error(`unknown condition in the recording: ${condition}`);
      return met;
    });
  }

  #status(name: string): Pod | undefined {
    return this.#world.api.find(this.#namespace, name);
  }

  async #exec(command: readonly string[]): Promise<void> {
    const [name = ""] = this.#pods;
    const id = this.#status(name)?.status?.containerStatuses?.[0]?.containerID ?? "";
    const signal = AbortSignal.timeout(COMMAND_TIMEOUT_MS);
    await this.#world.tools.execSync(
      runtimeContainerId(id.replace(/^.*:\/\//, "")),
      command,
      0,
      signal,
    );
  }

  async #killSandbox(): Promise<void> {
    const signal = AbortSignal.timeout(COMMAND_TIMEOUT_MS);
    const sandboxes = await this.#world.tools.listPodSandboxes({}, signal);
    const own = sandboxes.find(({ metadata }) => metadata?.namespace === this.#namespace);
    process.kill(processOf(own?.id ?? "none"), "SIGKILL");
  }
}

/** The process in a container's or sandbox's cgroup. */
function processOf(id: string): number {
  const pid = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((name) => cgroupsOf(name).includes(`/${id}\n`));
  if (pid === undefined) throw new Error(`no process runs in ${id}`);
  return Number(pid);
}

function cgroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    // The process has ended meanwhile.
    return "";
  }
}

/** What the API server makes of an object: texts of a secret become data, a service gets an address. */
function asServed(object: RecordedManifest, registry: string): object {
  if (object.kind === "Service") {
    return { ...object, spec: { ...object.spec, clusterIP: recordedServiceIp } };
  }
  if (object.kind !== "Secret") return object;
  const { stringData = {}, ...rest } = object;
  const data = Object.entries(stringData).map(([key, text]) => [
    key,
    // Credentials are for the registry that images are pulled from.
    Buffer.from(text.replaceAll(recordedRegistry, registry)).toString("base64"),
  ]);
  return { ...rest, data: Object.fromEntries(data) as Readonly<Record<string, string>> };
}

function objectPath(kind: string, namespace: string, name: string): string {
  if (kind === "RuntimeClass") return `/apis/node.k8s.io/v1/runtimeclasses/${name}`;
  return `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
}

/** What a status says in short. */
function outline(status: PodStatus = {}): string {
  const { phase, conditions = [], containerStatuses = [], observedGeneration } = status;
  const shown = conditions.map(({ type, status }) => `${type} ${status}`).toSorted();
  const restarts = containerStatuses.map(({ restartCount }) => restartCount);
  return JSON.stringify([phase, shown, restarts, observedGeneration]);
}

function isStart({ method }: { readonly method: string }): boolean {
  return START_CALLS.has(method);
}

/** Pod, call and target of every call of a trace. */
function targetsOf(trace: readonly TracedCall[], folders: TraceFolders): ReadonlySet<string> {
  return new Set(
    [...podCalls(trace, folders)].flatMap(([pod, { inOrder }]) =>
      inOrder.map(({ method, target }) => `${pod} ${method} ${target}`),
    ),
  );
}

async function until(
  what: string,
  timeoutMs: number,
  check: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(POLL_MS);
  }
}
