import { LruMap } from "../../lib/lru-map.ts";
import { formatTime } from "../../lib/time.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import { eventKey, similarKey, sourceKey } from "./event-keys.ts";

export interface EventCorrelatorLimits {
  /** How many events a source may have about an object at once. */
  readonly burst: number;
  /** How many more per second after that. */
  readonly perSecond: number;
  /** So many events that differ only in their message become one. */
  readonly similarEvents: number;
  /** After this long without a similar event, counting restarts. */
  readonly similarSeconds: number;
}

const defaultLimits: EventCorrelatorLimits = {
  burst: 25,
  perSecond: 1 / 300,
  similarEvents: 10,
  similarSeconds: 600,
};

/** Of each kind of key that is remembered. */
const rememberedKeys = 4096;

/** What becomes of an event. */
export type CorrelatedEvent =
  | { readonly kind: "skip" }
  | { readonly kind: "create"; readonly event: Event }
  /** One that was sent before; the patch makes that one the event. */
  | { readonly kind: "patch"; readonly event: Event; readonly patch: EventPatch };

interface EventPatch {
  readonly count: number;
  readonly lastTimestamp?: string | undefined;
  readonly message?: string | undefined;
}

interface SimilarEvents {
  readonly messages: Set<string>;
  readonly lastNs: bigint;
}

/** Of an event that was sent. */
type SentEvent = Pick<Event, "count" | "firstTimestamp"> &
  Pick<Event["metadata"], "name" | "resourceVersion">;

/** Keeps a node from flooding the API server: equal events are counted, similar ones combined, too many dropped. */
export class EventCorrelator {
  readonly #limits: EventCorrelatorLimits;
  readonly #similar = new LruMap<string, SimilarEvents>(rememberedKeys);
  readonly #sent = new LruMap<string, SentEvent>(rememberedKeys);
  readonly #budgets = new LruMap<string, TokenBucket>(rememberedKeys);

  constructor(limits: Partial<EventCorrelatorLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** `nowNs` since 1970; it never goes back. */
  correlate(event: Event, nowNs: bigint): CorrelatedEvent {
    const combined = this.#combine(event, nowNs);
    const counted = this.#count(combined.event, combined.key);
    if (!this.#hasBudget(counted, nowNs)) return { kind: "skip" };
    if ((counted.count ?? 0) <= 1) return { kind: "create", event: counted };
    return { kind: "patch", event: counted, patch: patchOf(counted) };
  }

  /** Takes the event as the API server holds it now. */
  recorded(event: Event): void {
    this.#remember(eventKey(event), event);
  }

  #combine(event: Event, nowNs: bigint): { readonly event: Event; readonly key: string } {
    const { similarEvents, similarSeconds } = this.#limits;
    const key = similarKey(event);
    const earlier = this.#similar.get(key);
    const isFresh =
      earlier !== undefined && nowNs - earlier.lastNs <= BigInt(similarSeconds) * 1_000_000_000n;
    const messages = isFresh ? earlier.messages : new Set<string>();
    messages.add(event.message ?? "");
    this.#similar.set(key, { messages, lastNs: nowNs });
    if (messages.size < similarEvents) return { event, key: eventKey(event) };
    // Of those that count as seen one makes room for the next, whichever.
    for (const message of messages) {
      messages.delete(message);
      break;
    }
    return { event: combinedEvent(event, nowNs), key };
  }

  #count(event: Event, key: string): Event {
    const earlier = this.#sent.get(key);
    const counted =
      earlier === undefined || (earlier.count ?? 0) === 0
        ? event
        : {
            ...event,
            metadata: {
              ...event.metadata,
              name: earlier.name,
              resourceVersion: earlier.resourceVersion,
            },
            firstTimestamp: earlier.firstTimestamp,
            count: (earlier.count ?? 0) + 1,
          };
    this.#remember(key, counted);
    return counted;
  }

  #remember(key: string, { count, firstTimestamp, metadata }: Event): void {
    const { name, resourceVersion } = metadata;
    this.#sent.set(key, { count, firstTimestamp, name, resourceVersion });
  }

  #hasBudget(event: Event, nowNs: bigint): boolean {
    const key = sourceKey(event);
    const { burst, perSecond } = this.#limits;
    // The rate is one of single precision, whose rounding decides at full seconds.
    const budget = this.#budgets.get(key) ?? new TokenBucket(Math.fround(perSecond), burst);
    this.#budgets.set(key, budget);
    return budget.tryTake(Number(nowNs) / 1_000_000);
  }
}

function combinedEvent(event: Event, nowNs: bigint): Event {
  const { involvedObject, metadata, message = "", type, reason, source } = event;
  const now = formatTime(Number(nowNs / 1_000_000n));
  return {
    metadata: {
      name: `${involvedObject.name ?? ""}.${nowNs.toString(16)}`,
      namespace: metadata.namespace,
    },
    involvedObject,
    reason,
    message: `(combined from similar events): ${message}`,
    source,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    type,
    reportingComponent: "",
    reportingInstance: "",
  };
}

function patchOf({ count = 0, lastTimestamp, message = "" }: Event): EventPatch {
  return { count, lastTimestamp, ...(message === "" ? {} : { message }) };
}
