// What programs see of a node: types alone, so that nothing behind them becomes part of the package's own.
import type { Pod } from "../model/pod.ts";
import type { PodExplanation } from "../ports/agent-view.ts";
import type { SyncRecord } from "../ports/sync-record.ts";
import type { BerthError } from "./berth-error.ts";
import type { Manifest } from "./manifest-types.ts";
import type { NodeOptions } from "./node-options.ts";

/**
 * - `ready`: its containers are ready for requests
 * - `succeeded`, `failed`, `finished`: all containers have ended, well, not well, or either
 * - `gone`: nothing of it is left on the node
 * - a function: answers true for the pod as it was wanted
 */
export type PodCondition =
  | "ready"
  | "succeeded"
  | "failed"
  | "finished"
  | "gone"
  | ((pod: Pod) => boolean);

export interface WaitOptions {
  /** Real time, also on a simulated node (default 60000). */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface LogOptions {
  /** Default: the pod's first container, or the one its annotation names. */
  readonly container?: string;
  /** Of the run before the current one. */
  readonly previous?: boolean;
  /** Only the last lines. */
  readonly tailLines?: number;
  /** With the time at which each line was written in front. */
  readonly timestamps?: boolean;
  readonly signal?: AbortSignal;
}

export interface ExecOptions {
  /** Default: the pod's first container, or the one its annotation names. */
  readonly container?: string;
  /** What the command reads. */
  readonly stdin?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ForwardOptions {
  /** On 127.0.0.1 (default: any that is free). */
  readonly localPort?: number;
  /** Ends the forwarding. */
  readonly signal?: AbortSignal;
  /** Called when a connection could not be forwarded, for example because nothing listens in the pod. */
  readonly onError?: (error: BerthError) => void;
}

/** A port of this machine that leads into a pod, until it is closed. */
export interface PortForward extends AsyncDisposable {
  readonly localPort: number;
  readonly podPort: number;
  /** Such as 127.0.0.1:40123. */
  readonly address: string;
  /** Ends all its connections. */
  close(): Promise<void>;
}

interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A pod of a node by its name. It need not be there yet: only calls that need it fail then. */
export interface NodePod {
  readonly namespace: string;
  /** As in its manifest; the pod's own name ends with that of the node. */
  readonly name: string;
  /** The pod with its status. */
  read(options?: CallOptions): Promise<Pod>;
  /** Resolves to the pod when it is as wanted. Rejects with a PodWaitError that says what the pod waits for. */
  waitFor(condition: PodCondition, options?: WaitOptions): Promise<Pod>;
  /** What a container has written so far. */
  logs(options?: LogOptions): Promise<string>;
  /** Its lines, also those that are still to come, until the container has ended. */
  followLogs(options?: LogOptions): AsyncIterable<string>;
  /** Runs a command in a container. An exit code other than 0 does not reject. */
  exec(command: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Opens a local port that leads to one of the pod, also where only the pod itself could reach it. */
  forwardPort(podPort: number, options?: ForwardOptions): Promise<PortForward>;
  /** What `berth why` shows: what is wanted, was seen, decided and is awaited. */
  explain(options?: CallOptions): Promise<PodExplanation>;
  /** Takes the pod from the node; resolves when nothing of it is left. */
  delete(options?: WaitOptions): Promise<void>;
}

/** One sync of a pod as it was decided and done: what was seen, each step with its reason, and what became of it. */
export type Decision = SyncRecord;

export interface StopOptions {
  /** Ends the pods too and removes all of the node, its data folder but for that itself. A temporary node is always removed; what cannot be, such as a volume that is still mounted, is kept and named. */
  readonly remove?: boolean;
}

export interface ListOptions {
  /** Default: all. */
  readonly namespace?: string;
  /** Such as app=web,tier!=test. */
  readonly labelSelector?: string;
  readonly signal?: AbortSignal;
}

/** A node with its agent. With `await using` it is stopped at the end of the block. */
export interface BerthNode extends AsyncDisposable {
  readonly kind: NodeOptions["kind"];
  readonly name: string;
  /** For `berth --data-dir`: all its commands work on this node. */
  readonly dataDir: string;
  /** Resolves when the node has ended, by `stop` or by itself; then to what was wrong. */
  readonly ended: Promise<string | undefined>;
  /** Puts objects on the node, or changes them. Resolves to its pods, in their order, once the node has taken them: they may not run yet. */
  apply(
    manifests: Manifest | readonly Manifest[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly NodePod[]>;
  /** Takes objects from the node; resolves when nothing of their pods is left. */
  delete(manifests: Manifest | readonly Manifest[], options?: WaitOptions): Promise<void>;
  /** A pod by its name, which may still have to come. */
  pod(name: string, options?: { readonly namespace?: string }): NodePod;
  pods(options?: ListOptions): Promise<readonly Pod[]>;
  /** What the node decides from now on, about one pod or about all. Resolves when nothing will be missed any more. */
  watchDecisions(options?: {
    readonly pod?: NodePod;
    readonly signal?: AbortSignal;
  }): Promise<AsyncIterableIterator<Decision>>;
  /** Ends the agent. Safe to call again. */
  stop(options?: StopOptions): Promise<void>;
}
