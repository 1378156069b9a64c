import { type CorrelatedEvent, EventCorrelator } from "../../core/event/event-correlator.ts";
import type { NodeEvent } from "../../core/node/node-event.ts";
import { errorText } from "../../lib/error-text.ts";
import { formatTime } from "../../lib/time.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import { ApiError, isApiStatus } from "../../model/api-error.ts";
import type { Event, ObjectReference } from "../../model/generated/kubernetes.ts";
import { dnsSubdomainProblems } from "../../model/name-format.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import type { Random } from "../../ports/random.ts";

const longestQueue = 1000;
const triesPerEvent = 12;
const retryMs = 10_000;
const usualBurst = 10;

export interface EventSenderDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly history: NodeEvents;
  readonly nodeName: string;
  /** A valid object name that nothing else has. */
  readonly uniqueName: () => string;
  /** How many requests per second; 0 for any number. */
  readonly perSecond: number;
  /** How many at once beyond that; 0 for the usual number. */
  readonly burst: number;
}

/** Takes events about the node itself. */
export interface NodeEvents {
  recordNode(event: NodeEvent): void;
}

type Sendable = Exclude<CorrelatedEvent, { readonly kind: "skip" }>;

/** Sends the node's events to the API server, one after the other. No caller waits for it; events beyond the queue are dropped. */
export class EventSender implements NodeEvents {
  readonly #deps: EventSenderDeps;
  readonly #queue: Event[] = [];
  readonly #correlator = new EventCorrelator();
  readonly #requests: TokenBucket | undefined;
  readonly #taken: WakeUp;
  #lastNs = 0n;
  #dropped = 0;

  constructor(deps: EventSenderDeps) {
    this.#deps = deps;
    this.#taken = new WakeUp(deps.clock);
    const { perSecond, burst } = deps;
    this.#requests =
      perSecond > 0 ? new TokenBucket(perSecond, burst > 0 ? burst : usualBurst) : undefined;
  }

  /** Takes the latest occurrence of an event as the node's own log has it. */
  take(event: Event): void {
    const { involvedObject, lastTimestamp, metadata } = event;
    this.#enqueue({
      ...event,
      metadata: {
        name: this.#eventName(involvedObject.name ?? ""),
        namespace: metadata.namespace,
        annotations: metadata.annotations,
      },
      firstTimestamp: lastTimestamp,
      count: 1,
    });
  }

  recordNode(event: NodeEvent): void {
    const { nodeName, history } = this.#deps;
    history.recordNode(event);
    this.recordAbout({ kind: "Node", name: nodeName, apiVersion: "v1" }, event);
  }

  /** An event of this node about another object than a pod. */
  recordAbout(
    object: ObjectReference,
    { type, reason, message, annotations }: NodeEvent & Pick<PodEvent, "annotations">,
  ): void {
    const { clock, nodeName } = this.#deps;
    const now = formatTime(clock.nowMs());
    this.#enqueue({
      apiVersion: "v1",
      kind: "Event",
      metadata: {
        name: this.#eventName(object.name ?? ""),
        namespace: object.namespace ?? "default",
        annotations,
      },
      involvedObject: object,
      reason,
      message,
      source: { component: "kubelet", host: nodeName },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type,
      reportingComponent: "kubelet",
      reportingInstance: nodeName,
    });
  }

  /** Sends what was taken until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const event = this.#queue.shift();
      if (event === undefined) {
        await this.#taken.wait(Number.POSITIVE_INFINITY, signal);
        continue;
      }
      const correlated = this.#correlator.correlate(event, this.#nowNs());
      if (correlated.kind === "skip") continue;
      await this.#send(correlated, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  #enqueue(event: Event): void {
    if (this.#queue.length >= longestQueue) {
      this.#dropped += 1;
      // Once per so many: what floods the queue must not flood the log.
      if (this.#dropped % longestQueue === 1) {
        this.#deps.log.warn("dropped events: too many wait for the api server", {
          dropped: this.#dropped,
        });
      }
      return;
    }
    this.#queue.push(event);
    this.#taken.notify();
  }

  async #send(correlated: Sendable, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const { reason, message } = correlated.event;
    for (let tries = 1; ; tries += 1) {
      try {
        this.#correlator.recorded(await this.#request(correlated, signal));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const fields = { reason, message, error: errorText(error) };
        if (isRefusal(error)) {
          log.debug("the api server refused an event", fields);
          return;
        }
        if (tries >= triesPerEvent) {
          log.warn("cannot send an event", fields);
          return;
        }
        // The nodes of a cluster whose server went away do not come back all at once.
        await clock.sleep(tries === 1 ? retryMs * random() : retryMs, signal);
      }
    }
  }

  async #request(correlated: Sendable, signal: AbortSignal): Promise<Event> {
    const { api } = this.#deps;
    const { event } = correlated;
    const path = `/api/v1/namespaces/${event.metadata.namespace ?? "default"}/events`;
    if (correlated.kind === "patch") {
      try {
        await this.#whenAllowed(signal);
        const { patch } = correlated;
        const name = event.metadata.name ?? "";
        return await api.send({ method: "PATCH", path: `${path}/${name}`, body: patch }, signal);
      } catch (error) {
        // The server forgets events after an hour or so.
        if (!isApiStatus(error, 404)) throw error;
      }
    }
    await this.#whenAllowed(signal);
    const { name, namespace, annotations } = event.metadata;
    const metadata = { name, namespace, annotations };
    const body = { ...event, apiVersion: "v1", kind: "Event", metadata };
    return await api.send({ method: "POST", path, body }, signal);
  }

  async #whenAllowed(signal: AbortSignal): Promise<void> {
    const { clock, perSecond } = this.#deps;
    while (this.#requests?.tryTake(clock.monotonicMs()) === false) {
      await clock.sleep(Math.ceil(1000 / perSecond), signal);
    }
  }

  #eventName(about: string): string {
    const name = `${about}.${this.#nowNs().toString(16)}`;
    return dnsSubdomainProblems(name).length === 0 ? name : this.#deps.uniqueName();
  }

  // Names are made of it: no two are alike.
  #nowNs(): bigint {
    const nowNs = BigInt(Math.floor(this.#deps.clock.nowMs())) * 1_000_000n;
    this.#lastNs = nowNs > this.#lastNs ? nowNs : this.#lastNs + 1n;
    return this.#lastNs;
  }
}

/** Whether the server will answer the same however often it is asked. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429;
}
