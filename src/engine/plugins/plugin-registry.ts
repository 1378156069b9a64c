import {
  failedAttempt,
  type PluginOperation,
  planPlugins,
  type RegisteredPlugin,
  type SocketAttempt,
} from "../../core/plugins/plan-plugins.ts";
import { errorText } from "../../lib/error-text.ts";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PluginSockets } from "../../ports/plugin-sockets.ts";
import type { PluginHandler, PluginType } from "./plugin-handler.ts";
import { registerPlugin } from "./register-plugin.ts";
import { SocketWatch } from "./socket-watch.ts";

/** Failures of sockets that are gone are remembered too: one that comes back waits out its pause. */
const maxAttempts = 1024;
/** Between two rounds: a socket that comes and goes all the time must not keep handlers and the API server busy. */
const roundMs = 250;
/** A plugin chooses part of the text. */
const maxErrorLength = 1024;
const countMetric = "plugin_manager_total_plugins";

export interface PluginRegistryDeps {
  readonly sockets: PluginSockets;
  /** The folder `plugins_registry` below the kubelet's. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the plugins registered whose sockets are in the folder, each with the handler of its type. */
export class PluginRegistry {
  readonly #deps: PluginRegistryDeps;
  readonly #handlers = new Map<string, PluginHandler>();
  readonly #registered = new Map<string, RegisteredPlugin>();
  readonly #attempts = new Map<string, SocketAttempt>();
  readonly #running = new Set<Promise<void>>();
  readonly #wakeUp: WakeUp;
  /** Knows the sockets in the folder. */
  readonly watch: SocketWatch;

  constructor(deps: PluginRegistryDeps) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
    this.watch = new SocketWatch({ ...deps, wakeUp: this.#wakeUp });
  }

  /** Plugins of that type can be registered from now on. */
  addHandler(type: PluginType, handler: PluginHandler): void {
    this.#handlers.set(type, handler);
  }

  get plugins(): readonly RegisteredPlugin[] {
    return [...this.#registered.values()];
  }

  /** Follows the folder until `signal` aborts. Plugins stay registered: the next agent finds their sockets. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const watching = this.watch.run(signal);
    while (!signal.aborted) {
      const { isAny, recheckAtMs } = this.startDue(signal);
      if (isAny) await clock.sleep(roundMs, signal).catch(() => undefined);
      const waitMs = recheckAtMs === undefined ? Infinity : recheckAtMs - this.#nowMs();
      await this.#wakeUp.wait(waitMs, signal);
    }
    await Promise.all([watching, ...this.#running]);
  }

  /** Starts what is to be done now; `done` resolves when that has ended, well or not. */
  startDue(signal: AbortSignal): {
    readonly isAny: boolean;
    readonly done: Promise<unknown>;
    readonly recheckAtMs?: number | undefined;
  } {
    const plan = planPlugins({
      sockets: this.watch.sockets,
      registered: this.#registered,
      attempts: this.#attempts,
      nowMs: this.#nowMs(),
    });
    const started = plan.operations.map((operation) => this.#start(operation, signal));
    const isAny = started.length > 0;
    return { isAny, done: Promise.all(started), recheckAtMs: plan.recheckAtMs };
  }

  /** Counts the sockets and the plugins, for a scrape of the metrics. */
  collect(metrics: Metrics): void {
    metrics.reset(countMetric);
    const count = (path: string, state: string): void =>
      metrics.set(countMetric, 1, { socket_path: path, state });
    for (const path of this.watch.sockets.keys()) count(path, "desired_state_of_world");
    for (const path of this.#registered.keys()) count(path, "actual_state_of_world");
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  #start(operation: PluginOperation, signal: AbortSignal): Promise<void> {
    const path = operation.kind === "register" ? operation.socketPath : operation.plugin.socketPath;
    const before = this.#attempts.get(path);
    this.#attempts.delete(path);
    this.#attempts.set(path, { isRunning: true, failure: before?.failure });
    const run = async (): Promise<void> => {
      const outcome = await this.#carryOut(operation, signal);
      if (outcome.ok) this.#attempts.delete(path);
      else this.#noteFailure(path, before, outcome.error);
      this.#running.delete(running);
      this.#wakeUp.notify();
    };
    const running = run();
    this.#running.add(running);
    return running;
  }

  #noteFailure(socket: string, before: SocketAttempt | undefined, problem: string): void {
    const attempt = failedAttempt(before, this.#nowMs());
    this.#attempts.set(socket, attempt);
    forgetOldest(this.#attempts, maxAttempts);
    const error = problem.slice(0, maxErrorLength);
    const retryMs = attempt.failure?.delayMs;
    this.#deps.log.warn("cannot register a plugin, trying again", { socket, error, retryMs });
  }

  /** Never rejects: what a handler throws is a failure like any other. What the end of the agent cuts off is not. */
  async #carryOut(operation: PluginOperation, signal: AbortSignal): Promise<Result<void, string>> {
    try {
      return operation.kind === "register"
        ? await this.#register(operation, signal)
        : await this.#unregister(operation, signal);
    } catch (error) {
      return signal.aborted ? ok(undefined) : err(errorText(error));
    }
  }

  async #register(
    { socketPath, socketIdentity }: Extract<PluginOperation, { kind: "register" }>,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const { sockets, log } = this.#deps;
    const outcome = await registerPlugin({ sockets, handlers: this.#handlers }, socketPath, signal);
    if (!outcome.ok) return outcome;
    this.#registered.set(socketPath, { socketPath, socketIdentity, ...outcome.value });
    log.info("registered a plugin", { socket: socketPath, ...outcome.value });
    return ok(undefined);
  }

  async #unregister(
    { plugin, because }: Extract<PluginOperation, { kind: "unregister" }>,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const { socketPath: socket, type, name, endpoint } = plugin;
    this.#registered.delete(socket);
    this.#deps.log.info("unregistering a plugin", { socket, type, name, because });
    await this.#handlers.get(type)?.deregister({ name, endpoint }, signal);
    return ok(undefined);
  }
}
