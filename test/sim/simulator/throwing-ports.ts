import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";

const maxDepth = 5;

export interface ThrowingOptions {
  /** Found in what a call is given when it concerns the pod: its UID, its name. */
  readonly marks: readonly string[];
  /** Such as "runtime.createContainer". */
  readonly isThrowing: (call: string) => boolean;
  /** Thrown by the call itself, or by its promise, after all was done. */
  readonly mode: "at once" | "later";
}

/** Ports that throw, as broken code would, in calls that concern one pod; all other calls are as they were. */
export class ThrowingPorts {
  readonly #options: ThrowingOptions;
  /** Ids that the runtime gave to what belongs to the pod. */
  readonly #ids = new Set<string>();
  /** All calls that concerned the pod. */
  readonly seen: Set<string> = new Set();
  thrown = 0;

  constructor(options: ThrowingOptions) {
    this.#options = options;
  }

  bind(ports: AgentPorts): AgentPorts {
    const { apiServer } = ports;
    return {
      ...ports,
      runtime: this.#bindPort("runtime", ports.runtime),
      hookHttp: this.#bindPort("hookHttp", ports.hookHttp),
      probeRunner: this.#bindPort("probeRunner", ports.probeRunner),
      files: this.#bindPort("files", ports.files),
      payloadFiles: this.#bindPort("payloadFiles", ports.payloadFiles),
      foreignFiles: this.#bindPort("foreignFiles", ports.foreignFiles),
      logFiles: this.#bindPort("logFiles", ports.logFiles),
      mounts: this.#bindPort("mounts", ports.mounts),
      historyStore: this.#bindPort("historyStore", ports.historyStore),
      hostCgroups: this.#bindPort("cgroups", ports.hostCgroups),
      cgroupStats: this.#bindPort("cgroupStats", ports.cgroupStats),
      hostUsage: this.#bindPort("hostUsage", ports.hostUsage),
      apiServer: apiServer && { ...apiServer, api: this.#bindPort("api", apiServer.api) },
    };
  }

  #bindPort<T extends object>(port: string, target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== "function") return value;
        const call = `${port}.${String(name)}`;
        return (...args: unknown[]): unknown => {
          const concerns = this.#concerns(args);
          if (concerns) this.seen.add(call);
          const isThrowing = concerns && this.#options.isThrowing(call);
          if (isThrowing && this.#options.mode === "at once") throw this.#error(call);
          const result: unknown = Reflect.apply(value, object, args);
          if (isThrowing && result instanceof Promise) {
            return result.then(() => Promise.reject(this.#error(call)));
          }
          if (concerns && result instanceof Promise) void result.then(this.#noteId, ignore);
          return result;
        };
      },
    });
  }

  #error(call: string): TypeError {
    this.thrown += 1;
    return new TypeError(`planted in ${call}`);
  }

  #concerns(args: readonly unknown[]): boolean {
    const marks = [...this.#options.marks, ...this.#ids];
    return args.some((arg) => mentions(arg, marks, maxDepth));
  }

  readonly #noteId = (answer: unknown): void => {
    if (typeof answer === "string" && answer.length >= 32) this.#ids.add(answer);
  };
}

function mentions(value: unknown, marks: readonly string[], depth: number): boolean {
  if (typeof value === "string") return marks.some((mark) => value.includes(mark));
  if (typeof value !== "object" || value === null || depth === 0) return false;
  if (value instanceof AbortSignal || value instanceof Uint8Array) return false;
  return Object.values(value).some((each) => mentions(each, marks, depth - 1));
}

function ignore(): void {}
