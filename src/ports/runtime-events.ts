import type { RuntimeContainerId } from "../model/ids.ts";
import type { ContainerExit } from "../model/observed.ts";

/** Something happened to a container or sandbox: a hint to read that one pod again, never the truth itself. */
export interface RuntimeEvent {
  /** The runtime's id of a container or of a sandbox. */
  readonly containerId: RuntimeContainerId;
  readonly kind: "created" | "started" | "stopped" | "deleted" | "oom";
  /** Of one that stopped, where the event says it. */
  readonly exit?: ContainerExit | undefined;
}

/** One way of receiving changes. There is no replay: relist after every subscription. */
export interface RuntimeEvents {
  readonly name: "cri" | "containerd";
  /**
   * `onSubscribed` is called once the stream is known to work (or is indistinguishable from one that works);
   * then every event is handed to `onEvent`. Rejects when the stream breaks; resolves when `signal` aborts.
   */
  subscribe(
    onSubscribed: () => void,
    onEvent: (event: RuntimeEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
}
