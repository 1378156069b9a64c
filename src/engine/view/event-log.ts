import { formatTime } from "../../lib/time.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvent, PodEvents, PodReference } from "../../ports/pod-events.ts";
import type { EventSender } from "../cluster/event-sender.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { NodeHistory } from "./node-history.ts";

const eventsPerPod = 100;
/** Output of probes is part of messages: 10 KiB each time, if a pod likes. */
const messageLengthPerPod = 64 * 1024;

/** The events of this node's pods, newest last; a repetition counts up instead of adding a line. */
export class EventLog implements PodEvents {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #host: string;
  readonly #history: Pick<NodeHistory, "noteEvent">;
  readonly #sender: Pick<EventSender, "take"> | undefined;
  readonly #events: SliceWriter<"events">;
  #sequence = 0;

  constructor(options: {
    readonly table: PodTable;
    readonly clock: Pick<Clock, "nowMs">;
    readonly host: string;
    readonly history: Pick<NodeHistory, "noteEvent">;
    /** Undefined = the node belongs to no cluster. */
    readonly sender: Pick<EventSender, "take"> | undefined;
  }) {
    this.#events = options.table.writer("events");
    this.#clock = options.clock;
    this.#host = options.host;
    this.#history = options.history;
    this.#sender = options.sender;
  }

  record(pod: PodReference, event: PodEvent): void {
    const { uid } = pod.metadata;
    const events = [...(this.#events.get(uid) ?? [])];
    const fieldPath = fieldPathOf(event);
    const index = events.findIndex(
      (earlier) =>
        earlier.reason === event.reason &&
        earlier.message === event.message &&
        earlier.involvedObject.fieldPath === fieldPath,
    );
    const now = formatTime(this.#clock.nowMs());
    const earlier = events[index];
    const next =
      earlier === undefined
        ? this.#newEvent(pod, event, now)
        : { ...earlier, count: (earlier.count ?? 1) + 1, lastTimestamp: now };
    if (earlier !== undefined) events.splice(index, 1);
    events.push(next);
    const isFull = (): boolean =>
      events.length > eventsPerPod || messageLength(events) > messageLengthPerPod;
    while (events.length > 1 && isFull()) events.shift();
    this.#events.set(uid, events);
    this.#history.noteEvent(next);
    this.#sender?.take(next);
  }

  list(podUid?: PodUid): readonly Event[] {
    if (podUid !== undefined) return this.#events.get(podUid) ?? [];
    return [...this.#events.entries()].flatMap(([, events]) => events);
  }

  #newEvent(pod: PodReference, event: PodEvent, now: string): Event {
    const { name, namespace, uid, resourceVersion } = pod.metadata;
    this.#sequence += 1;
    const suffix = `${Math.floor(this.#clock.nowMs()).toString(16)}${this.#sequence.toString(16)}`;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: {
        name: `${name}.${suffix}`,
        namespace,
        creationTimestamp: now,
        annotations: event.annotations,
      },
      involvedObject: {
        kind: "Pod",
        apiVersion: "v1",
        name,
        namespace,
        uid,
        resourceVersion,
        fieldPath: fieldPathOf(event),
      },
      type: event.type,
      reason: event.reason,
      message: event.message,
      source: { component: "kubelet", host: this.#host },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      reportingComponent: "kubelet",
      reportingInstance: this.#host,
    };
  }
}

function messageLength(events: readonly Event[]): number {
  return events.reduce((sum, { message = "" }) => sum + message.length, 0);
}

function fieldPathOf({ container }: PodEvent): string | undefined {
  if (container === undefined) return undefined;
  const list = { init: "initContainers", regular: "containers", ephemeral: "ephemeralContainers" };
  return `spec.${list[container.kind]}{${container.name}}`;
}
