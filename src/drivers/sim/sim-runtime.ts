import { withEither } from "../../lib/with-either.ts";
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  ContainerState,
  type ContainerStatusResponse,
  type ExecSyncResponse,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStatusResponse,
  type RuntimeConfigResponse,
  type StatusResponse,
  type UpdateContainerResourcesRequest,
  type VersionResponse,
} from "../../model/generated/cri.ts";
import { type RuntimeContainerId, runtimeContainerId } from "../../model/ids.ts";
import { podUidLabel } from "../../model/labels.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { RuntimeEvent } from "../../ports/runtime-events.ts";
import { cancelled, notFound, type SimInterceptor } from "./sim-call-gate.ts";
import { nanoseconds, SimContainer } from "./sim-container.ts";
import { hasLabels, isWanted } from "./sim-filters.ts";
import { SimNames } from "./sim-names.ts";
import { type SimProgram, simProgram } from "./sim-program.ts";
import {
  listedSandbox,
  type SimSandbox,
  sandboxName,
  sandboxStatus,
  usesNodeNetwork,
} from "./sim-sandbox.ts";
import { SimStreams } from "./sim-streams.ts";

/** One call that changes something, with what it is about. */
export interface SimCall {
  readonly method: string;
  /** The container; absent for calls about a sandbox. */
  readonly name?: string | undefined;
  readonly attempt: number;
  readonly sandboxAttempt: number;
  readonly logPath?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
}

export interface SimRuntimeOptions {
  readonly clock: Clock;
  /** Where containers write their logs; without it they write none. */
  readonly files?: HostFiles | undefined;
  /** Receives everything that happens to containers and sandboxes. */
  readonly onEvent?: ((event: RuntimeEvent) => void) | undefined;
}

const killedExitCode = 137;

/** A CRI runtime in memory, on whatever clock it is given; commands run as `simProgram` reads them. */
export class SimRuntime extends SimStreams implements ContainerRuntime {
  /** Every changing call, in the order they took effect. */
  readonly calls: SimCall[] = [];
  readonly #clock: Clock;
  readonly #files: HostFiles | undefined;
  readonly #onEvent: (event: RuntimeEvent) => void;
  readonly #sandboxes = new Map<string, SimSandbox>();
  readonly #containers = new Map<string, SimContainer>();
  readonly #names = new SimNames();
  #made = 0;
  #lastStamp = 0n;

  constructor({ clock, files, onEvent = () => undefined }: SimRuntimeOptions) {
    super();
    this.#clock = clock;
    this.#files = files;
    this.#onEvent = onEvent;
  }

  set intercept(interceptor: SimInterceptor) {
    this.gate.intercept = interceptor;
  }

  get sandboxes(): readonly SimSandbox[] {
    return [...this.#sandboxes.values()];
  }

  get containers(): readonly SimContainer[] {
    return [...this.#containers.values()];
  }

  /** Of the sandbox or the container with that id: the UID of its pod. */
  ownerOf(id: string): string | undefined {
    const container = this.#containers.get(id);
    if (container !== undefined) return container.config.labels?.[podUidLabel] ?? "";
    return this.#sandboxes.get(id)?.config.metadata?.uid;
  }

  containerById(id: string): SimContainer | undefined {
    return this.#containers.get(id);
  }

  /** The newest container of that name that is there. */
  findContainer(name: string): SimContainer | undefined {
    return [...this.#containers.values()].findLast(({ config }) => config.metadata?.name === name);
  }

  /** Everything in the newest sandbox ends at once, as after an accident. */
  crashSandbox(): void {
    const newest = [...this.#sandboxes.values()].at(-1);
    if (newest !== undefined) this.#endSandbox(newest);
  }

  version(signal: AbortSignal): Promise<VersionResponse> {
    return this.gate.call("Version", signal, () => ({
      version: "0.1.0",
      runtimeName: "sim",
      runtimeVersion: "1.0.0",
      runtimeApiVersion: "v1",
    }));
  }

  status(_verbose: boolean, signal: AbortSignal): Promise<StatusResponse> {
    const conditions = ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true }));
    return this.gate.call("Status", signal, () => ({ status: { conditions } }));
  }

  runtimeConfig(signal: AbortSignal): Promise<RuntimeConfigResponse> {
    return this.gate.call("RuntimeConfig", signal, () => ({}));
  }

  updateRuntimeConfig(_podCidr: string, signal: AbortSignal): Promise<void> {
    return this.gate.call("UpdateRuntimeConfig", signal, () => undefined);
  }

  runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<string> {
    const method = "RunPodSandbox";
    const id = this.#newId();
    const ip = usesNodeNetwork(config) ? "" : `10.88.${this.#made >> 8}.${this.#made & 0xff}`;
    const make = (): string => {
      const createdAt = this.#newStamp();
      const sandbox = { id, config, runtimeHandler, createdAt, ip, isReady: true };
      this.#sandboxes.set(id, sandbox);
      this.#noteSandbox(method, sandbox);
      this.#onEvent({ containerId: runtimeContainerId(id), kind: "started" });
      return id;
    };
    const name = this.#names.reservation(method, "sandbox", sandboxName(config), id);
    return this.gate.call(method, signal, make, name);
  }

  stopPodSandbox(sandboxId: string, signal: AbortSignal): Promise<void> {
    return this.gate.call("StopPodSandbox", signal, () => {
      const sandbox = this.#sandboxes.get(sandboxId);
      if (sandbox === undefined) return;
      this.#noteSandbox("StopPodSandbox", sandbox);
      this.#endSandbox(sandbox);
    });
  }

  removePodSandbox(sandboxId: string, signal: AbortSignal): Promise<void> {
    return this.gate.call("RemovePodSandbox", signal, () => {
      const sandbox = this.#sandboxes.get(sandboxId);
      if (sandbox === undefined) return;
      this.#noteSandbox("RemovePodSandbox", sandbox);
      this.#endSandbox(sandbox);
      for (const { place } of this.#containersIn(sandboxId)) {
        this.#containers.delete(place.id);
        this.#names.release(place.id);
      }
      this.#sandboxes.delete(sandboxId);
      this.#names.release(sandboxId);
    });
  }

  podSandboxStatus(sandboxId: string, signal: AbortSignal): Promise<PodSandboxStatusResponse> {
    return this.gate.call("PodSandboxStatus", signal, () => {
      const sandbox = this.#sandboxes.get(sandboxId);
      if (sandbox === undefined) throw notFound("PodSandboxStatus", "sandbox", sandboxId);
      return { status: sandboxStatus(sandbox) };
    });
  }

  listPodSandboxes(filter: PodSandboxFilter, signal: AbortSignal): Promise<readonly PodSandbox[]> {
    return this.gate.call("ListPodSandbox", signal, () =>
      [...this.#sandboxes.values()]
        .map(listedSandbox)
        .filter(
          ({ id, state, labels }) =>
            isWanted(filter.id, id) &&
            (filter.state === undefined || (filter.state.state ?? 0) === state) &&
            hasLabels(labels, filter.labelSelector),
        ),
    );
  }

  updatePodSandboxResources(_request: object, signal: AbortSignal): Promise<void> {
    return this.gate.call("UpdatePodSandboxResources", signal, () => undefined);
  }

  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<RuntimeContainerId> {
    const method = "CreateContainer";
    const id = runtimeContainerId(this.#newId());
    const make = (): RuntimeContainerId => {
      this.#readySandbox(method, sandboxId);
      const logPath = `${sandboxConfig.logDirectory ?? ""}/${config.logPath ?? ""}`;
      const imageRef = this.findImage(config.image ?? {})?.id ?? config.image?.image ?? "";
      const createdAt = this.#newStamp();
      const place = { id, sandboxId, logPath, imageRef, createdAt, clock: this.#clock };
      const container = new SimContainer(place, config, this.programOf(config, sandboxConfig));
      this.#containers.set(id, container);
      this.#noteContainer(method, container, { logPath: config.logPath });
      this.#onEvent({ containerId: id, kind: "created" });
      const stopped = (): void => this.#onEvent({ containerId: id, kind: "stopped" });
      container.ended.addEventListener("abort", stopped, { once: true });
      return id;
    };
    const { name, attempt } = config.metadata ?? {};
    const fullName = `${name}_${sandboxName(sandboxConfig)}_${attempt}`;
    const reservation = this.#names.reservation(method, "container", fullName, id);
    return this.gate.call(method, signal, make, reservation);
  }

  startContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    return this.gate.call("StartContainer", signal, async () => {
      const container = this.#container("StartContainer", containerId);
      if (container.state !== ContainerState.CONTAINER_CREATED) {
        const message = `failed to start container "${containerId}": it has been started before`;
        throw new RuntimeError("StartContainer", "Unknown", message);
      }
      this.#readySandbox("StartContainer", container.place.sandboxId);
      this.#noteContainer("StartContainer", container);
      container.start();
      this.#onEvent({ containerId, kind: "started" });
      await this.#files?.writeFile(container.place.logPath, this.#logOf(container), 0o640);
    });
  }

  stopContainer(
    containerId: RuntimeContainerId,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    return this.gate.call("StopContainer", signal, async () => {
      const container = this.#containers.get(containerId);
      if (container === undefined) return;
      this.#noteContainer("StopContainer", container, { timeoutSeconds });
      if (container.state !== ContainerState.CONTAINER_RUNNING) return;
      if (timeoutSeconds > 0) {
        container.signalStop();
        container.stopsInProgress += 1;
        await withEither([container.ended, signal], (either) =>
          this.#wait(timeoutSeconds * 1000, either),
        );
        container.stopsInProgress -= 1;
      }
      if (signal.aborted) throw cancelled("StopContainer");
      container.end(killedExitCode);
    });
  }

  removeContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    return this.gate.call("RemoveContainer", signal, () => {
      const container = this.#containers.get(containerId);
      if (container === undefined) return;
      this.#noteContainer("RemoveContainer", container);
      container.end(killedExitCode);
      this.#containers.delete(containerId);
      this.#names.release(containerId);
      this.#onEvent({ containerId, kind: "deleted" });
    });
  }

  containerStatus(
    containerId: RuntimeContainerId,
    signal: AbortSignal,
  ): Promise<ContainerStatusResponse> {
    return this.gate.call("ContainerStatus", signal, () => ({
      status: this.#container("ContainerStatus", containerId).status(),
    }));
  }

  listContainers(filter: ContainerFilter, signal: AbortSignal): Promise<readonly Container[]> {
    return this.gate.call("ListContainers", signal, () =>
      [...this.#containers.values()]
        .filter(
          ({ place, config, state }) =>
            isWanted(filter.id, place.id) &&
            isWanted(filter.podSandboxId, place.sandboxId) &&
            (filter.state === undefined || (filter.state.state ?? 0) === state) &&
            hasLabels(config.labels, filter.labelSelector),
        )
        .map((container) => ({ ...container.status(), podSandboxId: container.place.sandboxId })),
    );
  }

  updateContainerResources(
    { containerId = "", linux }: UpdateContainerResourcesRequest,
    signal: AbortSignal,
  ): Promise<void> {
    return this.gate.call("UpdateContainerResources", signal, () => {
      const container = this.#container("UpdateContainerResources", containerId);
      this.#noteContainer("UpdateContainerResources", container);
      container.resources = { ...container.resources, ...linux };
    });
  }

  reopenContainerLog(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    return this.gate.call("ReopenContainerLog", signal, () => {
      this.#container("ReopenContainerLog", containerId);
    });
  }

  execSync(
    containerId: RuntimeContainerId,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<ExecSyncResponse> {
    return this.gate.call("ExecSync", signal, async () => {
      const container = this.#container("ExecSync", containerId);
      if (container.state !== ContainerState.CONTAINER_RUNNING) {
        throw new RuntimeError("ExecSync", "Unknown", `container "${containerId}" does not run`);
      }
      const program = this.execProgramOf(container, command);
      const limitMs = timeoutSeconds === 0 ? Number.POSITIVE_INFINITY : timeoutSeconds * 1000;
      const lastsMs = program.endsAfterMs ?? Number.POSITIVE_INFINITY;
      await this.#wait(Math.min(lastsMs, limitMs), AbortSignal.any([container.ended, signal]));
      if (signal.aborted) throw cancelled("ExecSync");
      if (container.ended.aborted) return { exitCode: killedExitCode };
      if (lastsMs > limitMs) {
        const message = `failed to exec in container: timeout ${timeoutSeconds}s exceeded`;
        throw new RuntimeError("ExecSync", "DeadlineExceeded", message);
      }
      const encoder = new TextEncoder();
      const { exitCode, stdout, stderr } = program;
      return { exitCode, stdout: encoder.encode(stdout), stderr: encoder.encode(stderr) };
    });
  }

  /** What a container does once it is started. */
  protected programOf({ command, args }: ContainerConfig, _sandbox: PodSandboxConfig): SimProgram {
    return simProgram([...(command ?? []), ...(args ?? [])]);
  }

  /** What a command does that is run in a container. */
  protected execProgramOf(_container: SimContainer, command: readonly string[]): SimProgram {
    return simProgram(command);
  }

  #endSandbox(sandbox: SimSandbox): void {
    if (sandbox.isReady)
      this.#onEvent({ containerId: runtimeContainerId(sandbox.id), kind: "stopped" });
    sandbox.isReady = false;
    for (const container of this.#containersIn(sandbox.id)) container.end(killedExitCode);
  }

  #container(method: string, id: string): SimContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw notFound(method, "container", id);
    return container;
  }

  #readySandbox(method: string, id: string): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw notFound(method, "sandbox", id);
    if (sandbox.isReady) return;
    throw new RuntimeError(method, "Unknown", `sandbox container "${id}" is not running`);
  }

  #containersIn(sandboxId: string): SimContainer[] {
    return [...this.#containers.values()].filter(({ place }) => place.sandboxId === sandboxId);
  }

  #noteSandbox(method: string, { config }: SimSandbox): void {
    const attempt = config.metadata?.attempt ?? 0;
    this.calls.push({ method, attempt, sandboxAttempt: attempt });
  }

  #noteContainer(
    method: string,
    { config, place }: SimContainer,
    more: Pick<SimCall, "logPath" | "timeoutSeconds"> = {},
  ): void {
    const { name, attempt = 0 } = config.metadata ?? {};
    const sandboxAttempt = this.#sandboxes.get(place.sandboxId)?.config.metadata?.attempt ?? 0;
    this.calls.push({ method, name, attempt, sandboxAttempt, ...more });
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined);
  }

  #logOf({ program }: SimContainer): string {
    const time = new Date(this.#clock.nowMs()).toISOString();
    const lines = (stream: string, text: string): string =>
      text === "" ? "" : `${time} ${stream} F ${text}\n`;
    return lines("stdout", program.stdout) + lines("stderr", program.stderr);
  }

  #newId(): string {
    this.#made += 1;
    return this.#made.toString(16).padStart(12, "0").padEnd(64, "0");
  }

  /** Now in nanoseconds, and a microsecond later than any other: no two objects have the same time. */
  #newStamp(): bigint {
    const now = nanoseconds(this.#clock.nowMs());
    this.#lastStamp = now > this.#lastStamp ? now : this.#lastStamp + 1000n;
    return this.#lastStamp;
  }
}
