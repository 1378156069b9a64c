// The steps of a pod plan: data, in the order they are carried out. Every step says why it is there.

/** Why a container is killed; it selects the grace period and the event. */
export type KillReason =
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

/** Stops every running container and all sandboxes of the pod. */
export interface KillPodStep extends Because {
  readonly kind: "kill-pod";
  /** The pod starts over in a new sandbox: its init containers are removed once stopped. */
  readonly startsOver: boolean;
  /** What was decided for single containers; stopping the pod makes it needless. Not carried out. */
  readonly replaces: readonly (KillContainerStep | ResetContainerStep)[];
}

export interface KillContainerStep extends Because {
  readonly kind: "kill-container";
  readonly containerId: string;
  readonly name: string;
  /** The text of the Killing event. */
  readonly message: string;
  readonly reason: KillReason;
}

export interface CreateSandboxStep extends Because {
  readonly kind: "create-sandbox";
  readonly attempt: number;
}

/** `index` counts within the container list of that kind in the spec. */
export interface StartContainerStep extends Because {
  readonly kind: "start-ephemeral" | "start-init" | "start-container";
  readonly index: number;
  readonly name: string;
}

/** RestartAllContainers: the container is removed, after being stopped where `kill` says so. */
export interface ResetContainerStep extends Because {
  readonly kind: "reset-container";
  readonly containerId: string;
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
  readonly containerId: string;
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
  | CreateSandboxStep
  | StartContainerStep
  | ResetContainerStep
  | ResizeStep;

export interface PodPlan {
  readonly steps: readonly Step[];
  /** The newest sandbox, also when it is about to be replaced; its presence makes that an event. */
  readonly sandboxId?: string | undefined;
  /** The attempt of the sandbox that the containers are started in. */
  readonly sandboxAttempt: number;
}
