// The steps of plans: data, in the order they are carried out. Every step says why it is there.
import type { ContainerId } from "../../model/ids.ts";
import type { Standing } from "../observe/classify-pod.ts";

/** Why a container is killed; it selects the grace period and the event. */
export type ContainerKillReason =
  | "StartupProbe"
  | "LivenessProbe"
  | "FailedPostStartHook"
  | "RestartAllContainers"
  | "Unknown"
  | "";

interface Because {
  /** A sentence for people: what was seen that makes this step necessary. */
  readonly because: string;
}

/** Stops every running container and all sandboxes of the pod; leftovers have steps of their own. */
export interface KillPodStep extends Because {
  readonly kind: "kill-pod";
  /** The pod starts over in a new sandbox: its init containers are removed once stopped. */
  readonly startsOver: boolean;
  /** What was decided for single containers; stopping the pod makes it needless. Not carried out. */
  readonly replaces: readonly (KillContainerStep | ResetContainerStep)[];
  /** Absent = as the pod's spec says. */
  readonly graceSeconds?: number | undefined;
}

export interface KillContainerStep extends Because {
  readonly kind: "kill-container";
  readonly containerId: ContainerId;
  readonly name: string;
  /** The text of the Killing event. */
  readonly message: string;
  readonly reason: ContainerKillReason;
}

export interface CreateSandboxStep extends Because {
  readonly kind: "create-sandbox";
  readonly attempt: number;
}

/** `index` counts within the container list of that kind in the spec. */
interface StartStep<Kind extends string> extends Because {
  readonly kind: Kind;
  readonly index: number;
  readonly name: string;
  /** How long it waits after its next end; absent = it has not ended yet. */
  readonly nextDelayMs?: number | undefined;
}

export type StartContainerStep =
  | StartStep<"start-ephemeral">
  | StartStep<"start-init">
  | StartStep<"start-container">;

/** A container that may not start yet. */
export interface WaitStep extends Because {
  readonly kind: "wait";
  readonly starts: StartContainerStep["kind"];
  readonly index: number;
  readonly name: string;
  /** The end of its back-off; absent = something has to change before. */
  readonly untilMs?: number | undefined;
  /** What is waited for. */
  readonly message: string;
}

/** Removes a container that does not run. */
export interface RemoveContainerStep extends Because {
  readonly kind: "remove-container";
  readonly containerId: ContainerId;
  readonly name: string;
  readonly standing: Standing;
  readonly keepLogs: boolean;
  /**
   * The container may come to life until it is removed, and another instance of it is about to be created: it stays if
   * it has run, and nothing else is created if it runs.
   */
  readonly unlessStarted: boolean;
}

export interface StopSandboxStep extends Because {
  readonly kind: "stop-sandbox";
  readonly sandboxId: string;
}

export interface RemoveSandboxStep extends Because {
  readonly kind: "remove-sandbox";
  readonly sandboxId: string;
}

/** RestartAllContainers: the container is removed, after being stopped where `kill` says so. */
export interface ResetContainerStep extends Because {
  readonly kind: "reset-container";
  readonly containerId: ContainerId;
  readonly name: string;
  readonly kill: boolean;
}

/** Applies the pod's resources in place: pod cgroup and containers, in an order that never oversteps. */
export interface ResizeStep extends Because {
  readonly kind: "resize";
  readonly updates: {
    readonly cpu: readonly ResizeUpdate[];
    readonly memory: readonly ResizeUpdate[];
  };
  readonly updatePodResources: boolean;
  readonly updatePodLevelResources: boolean;
}

export interface ResizeUpdate {
  readonly name: string;
  readonly containerId: ContainerId;
  readonly desired: ResizeResources;
  readonly current: ResizeResources;
}

export interface ResizeResources {
  readonly cpuRequest: number;
  readonly cpuLimit: number;
  readonly memoryRequest: number;
  readonly memoryLimit: number;
}

export type Step =
  | KillPodStep
  | KillContainerStep
  | ResetContainerStep
  | RemoveContainerStep
  | StopSandboxStep
  | RemoveSandboxStep
  | CreateSandboxStep
  | ResizeStep
  | StartContainerStep
  | WaitStep;

export interface PodPlan {
  readonly steps: readonly Step[];
  /** The newest sandbox, also when it is about to be replaced; its presence makes that an event. */
  readonly sandboxId?: string | undefined;
  /** The attempt of the sandbox that the containers are started in. */
  readonly sandboxAttempt: number;
  /** When the first back-off ends; absent = nothing is due by itself. */
  readonly recheckAtMs?: number | undefined;
}
