import { type BackoffLimits, nextDelayMs } from "../../lib/backoff.ts";

/** The kubelet's own: slightly more than two minutes, so that it is recognised in logs. */
const retryDelays: BackoffLimits = { initialMs: 500, maxMs: 122_000 };

/** A plugin that its handler has accepted. */
export interface RegisteredPlugin {
  readonly socketPath: string;
  /** Which socket at that path it was: one that is created again is another one. */
  readonly socketIdentity: string;
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
}

/** What was last done with a socket: one operation at a time, and a pause after one that failed. */
export interface SocketAttempt {
  readonly isRunning: boolean;
  /** The last failure that no success followed. */
  readonly failure?: { readonly atMs: number; readonly delayMs: number } | undefined;
}

export interface PluginFacts {
  /** The sockets in the folder: path → identity. */
  readonly sockets: ReadonlyMap<string, string>;
  /** By the path of the socket. */
  readonly registered: ReadonlyMap<string, RegisteredPlugin>;
  /** By the path of the socket. */
  readonly attempts: ReadonlyMap<string, SocketAttempt>;
  readonly nowMs: number;
}

export type PluginOperation =
  | { readonly kind: "unregister"; readonly plugin: RegisteredPlugin; readonly because: string }
  | {
      readonly kind: "register";
      readonly socketPath: string;
      readonly socketIdentity: string;
      readonly because: string;
    };

export interface PluginPlan {
  readonly operations: readonly PluginOperation[];
  /** When the next pause ends. */
  readonly recheckAtMs?: number | undefined;
}

/** What is to be done so that the plugins of these sockets are registered, and no others. */
export function planPlugins(facts: PluginFacts): PluginPlan {
  const operations: PluginOperation[] = [];
  const pausesMs: number[] = [];
  for (const [path, operation] of wantedOperations(facts)) {
    const attempt = facts.attempts.get(path);
    const notBeforeMs = earliestMs(attempt);
    if (attempt?.isRunning === true) continue;
    if (facts.nowMs < notBeforeMs) pausesMs.push(notBeforeMs);
    else operations.push(operation);
  }
  return { operations, recheckAtMs: pausesMs.length > 0 ? Math.min(...pausesMs) : undefined };
}

/** How the next attempt at a socket stands after one that failed. */
export function failedAttempt(before: SocketAttempt | undefined, nowMs: number): SocketAttempt {
  const delayMs = nextDelayMs(before?.failure?.delayMs, retryDelays);
  return { isRunning: false, failure: { atMs: nowMs, delayMs } };
}

/** At most one for each socket: a plugin is unregistered before its socket is registered again. */
function wantedOperations({ sockets, registered }: PluginFacts): Map<string, PluginOperation> {
  const operations = new Map<string, PluginOperation>();
  for (const plugin of registered.values()) {
    const identity = sockets.get(plugin.socketPath);
    if (identity === plugin.socketIdentity) continue;
    const because = identity === undefined ? "its socket is gone" : "its socket was created again";
    operations.set(plugin.socketPath, { kind: "unregister", plugin, because });
  }
  for (const [socketPath, socketIdentity] of sockets) {
    if (registered.has(socketPath)) continue;
    const because = "its socket is there and it is not registered";
    operations.set(socketPath, { kind: "register", socketPath, socketIdentity, because });
  }
  return operations;
}

/** A retry is refused up to and including the end of the pause, as the kubelet does. */
function earliestMs(attempt: SocketAttempt | undefined): number {
  const failure = attempt?.failure;
  return failure === undefined ? 0 : failure.atMs + failure.delayMs + 1;
}
