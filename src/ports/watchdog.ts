import type { PodUid } from "../model/ids.ts";

/** Where the agent notes its progress, for a watcher outside of its thread. */
export interface Progress {
  /** The sync loop has turned. */
  noteTurn(): void;
  /** Something is begun for a pod. The last one noted is what the agent was doing when it stood still. */
  noteStep(podUid: PodUid, step: string): void;
}

/** How an agent was ended that stood still. */
export interface FreezeReport {
  readonly atMs: number;
  readonly pid: number;
  /** Its thread did nothing at all, or turned without the sync loop getting on. */
  readonly kind: "thread" | "loop";
  readonly stillMs: number;
  readonly podUid: PodUid;
  readonly step: string;
  readonly memoryBytes: number;
  /** Of the thread, innermost first; empty where it could not be had. */
  readonly stack: readonly string[];
}

/** Ends an agent that stands still; the next one reports it. */
export interface Watchdog {
  readonly progress: Progress;
  /** How the agent before this one was ended; undefined when it was not by its watchdog, or that was reported. */
  readReport(): Promise<FreezeReport | undefined>;
  /** It was reported. */
  forgetReport(): Promise<void>;
}
