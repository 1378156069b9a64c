import { createContainerdEvents } from "../../src/drivers/containerd/containerd-events.ts";
import type { CriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import type { RuntimeEvent } from "../../src/ports/runtime-events.ts";

interface TimedEvent extends RuntimeEvent {
  readonly atMs: number;
}

interface Waiter {
  readonly isReached: () => boolean;
  readonly resolve: () => void;
}

const leastTimeoutMs = 180_000;
const timeoutMsPerContainer = 1_000;

/** Receives everything that happens in the runtime, and when: the clock of all measurements that end there. */
export class RuntimeWatch {
  readonly #stop = new AbortController();
  readonly #events: TimedEvent[] = [];
  readonly #waiters = new Set<Waiter>();
  readonly #ended: Promise<void>;

  private constructor(runtime: CriRuntime, onSubscribed: () => void) {
    const onEvent = (event: RuntimeEvent): void => this.#take(event);
    const events = createContainerdEvents(runtime);
    this.#ended = events.subscribe(onSubscribed, onEvent, this.#stop.signal);
    this.#ended.catch(() => undefined);
  }

  static async start(runtime: CriRuntime): Promise<RuntimeWatch> {
    let watch: RuntimeWatch | undefined;
    await new Promise<void>((resolve, reject) => {
      watch = new RuntimeWatch(runtime, resolve);
      watch.#ended.catch(reject);
    });
    if (watch === undefined) throw new Error("no events from the runtime");
    return watch;
  }

  /** A place in time that counts begin at. */
  mark(): number {
    return this.#events.length;
  }

  /** When that many different containers and sandboxes had this happen to them; resolves once they had. */
  async until(kind: RuntimeEvent["kind"], count: number, since: number): Promise<number> {
    const find = (): number | undefined => {
      const ids = new Set<string>();
      for (const event of this.#events.slice(since)) {
        if (event.kind === kind) ids.add(event.containerId);
        if (ids.size >= count) return event.atMs;
      }
      return undefined;
    };
    const timeoutMs = Math.max(leastTimeoutMs, count * timeoutMsPerContainer);
    await this.#untilReached(() => find() !== undefined, `${count} × ${kind}`, timeoutMs);
    return find() ?? Number.NaN;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended.catch(() => undefined);
  }

  #take(event: RuntimeEvent): void {
    this.#events.push({ ...event, atMs: performance.now() });
    for (const waiter of this.#waiters) {
      if (!waiter.isReached()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  async #untilReached(isReached: () => boolean, what: string, timeoutMs: number): Promise<void> {
    if (isReached()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new Error(`the runtime did not report ${what} in ${timeoutMs} ms`));
      }, timeoutMs);
      const waiter: Waiter = {
        isReached,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiters.add(waiter);
    });
  }
}
