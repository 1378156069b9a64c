import {
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  type LinuxContainerResources,
} from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { SimProgram } from "./sim-program.ts";

export interface SimContainerPlace {
  readonly id: string;
  readonly sandboxId: string;
  readonly logPath: string;
  readonly imageRef: string;
  /** Nanoseconds. */
  readonly createdAt: bigint;
  readonly clock: Clock;
}

/** A simulated container: one process that may end by itself, be stopped, or be killed. */
export class SimContainer {
  readonly place: SimContainerPlace;
  readonly config: ContainerConfig;
  readonly program: SimProgram;
  resources: LinuxContainerResources | undefined;
  /** How many callers wait for its end, which the runtime enforces when their time has passed. */
  stopsInProgress = 0;
  #state: ContainerState = ContainerState.CONTAINER_CREATED;
  #startedAt = 0n;
  #finishedAt = 0n;
  #exitCode = 0;
  #reason: string | undefined;
  #wasSignalled = false;
  readonly #ended = new AbortController();

  constructor(place: SimContainerPlace, config: ContainerConfig, program: SimProgram) {
    this.place = place;
    this.config = config;
    this.program = program;
    this.resources = config.linux?.resources;
  }

  get state(): ContainerState {
    return this.#state;
  }

  /** Aborts when the container has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  start(): void {
    this.#state = ContainerState.CONTAINER_RUNNING;
    this.#startedAt = this.#now();
    const { endsAfterMs, exitCode, reason } = this.program;
    if (endsAfterMs !== undefined) this.#endLater(endsAfterMs, exitCode, reason);
  }

  /** The stop signal. */
  signalStop(): void {
    const { onStop } = this.program;
    if (this.#wasSignalled || onStop === "ignore") return;
    this.#wasSignalled = true;
    if (onStop.afterMs === 0) this.end(onStop.exitCode);
    else this.#endLater(onStop.afterMs, onStop.exitCode);
  }

  end(exitCode: number, reason?: string): void {
    if (this.#state !== ContainerState.CONTAINER_RUNNING) return;
    this.#state = ContainerState.CONTAINER_EXITED;
    this.#exitCode = exitCode;
    this.#reason = reason ?? (exitCode === 0 ? "Completed" : "Error");
    this.#finishedAt = this.#now();
    this.#ended.abort();
  }

  status(): ContainerStatus {
    const { config, place } = this;
    return {
      id: place.id,
      metadata: config.metadata,
      state: this.#state,
      createdAt: place.createdAt,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      exitCode: this.#exitCode,
      reason: this.#reason ?? "",
      image: { image: config.image?.userSpecifiedImage || config.image?.image },
      imageRef: place.imageRef,
      labels: config.labels,
      annotations: config.annotations,
      mounts: config.mounts,
      logPath: place.logPath,
      ...(this.resources === undefined ? {} : { resources: { linux: this.resources } }),
    };
  }

  #now(): bigint {
    return nanoseconds(this.place.clock.nowMs());
  }

  #endLater(ms: number, exitCode: number, reason?: string): void {
    this.place.clock.sleep(ms, this.ended).then(
      () => this.end(exitCode, reason),
      () => undefined,
    );
  }
}

export function nanoseconds(ms: number): bigint {
  return BigInt(Math.trunc(ms * 1000)) * 1000n;
}
