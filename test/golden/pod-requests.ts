import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { applyStrategicMerge } from "../sim/strategic-merge.ts";
import type { ApiTraceRequest } from "./api-trace.ts";
import { normaliseApiValue, withoutBlanks } from "./api-values.ts";
import { createdStatus } from "./golden-api.ts";
import { at, isList, isObject, textAt } from "./json-path.ts";
import type { KnownNames } from "./known-names.ts";
import type { Json } from "./recording.ts";

/** A change of a pod's status by the node. */
export interface StatusPatch {
  readonly patchType: string | undefined;
  readonly body: Json;
  readonly before: Json;
  readonly after: Json;
}

/** A value that a part of the status had, and for how long; the last value of all has it for ever. */
export interface PartValue {
  readonly value: Json;
  readonly seconds: number;
}

/** What the node said to the API server of one pod, in a form that two machines can agree on. */
export interface PodRequests {
  readonly patches: readonly StatusPatch[];
  /** By part of the status, such as conditions.Ready: its values one after the other. */
  readonly statusParts: ReadonlyMap<string, readonly PartValue[]>;
  /** The bodies of deletions and creations. */
  readonly deletions: readonly Json[];
  readonly creations: readonly Json[];
  /** By what they say: the events, as they became. */
  readonly events: { readonly [said: string]: Json };
}

interface TimedStatus {
  readonly status: Json;
  readonly atSeconds: number;
}

interface Builder {
  status: Json;
  readonly patches: StatusPatch[];
  readonly statuses: TimedStatus[];
  readonly deletions: Json[];
  readonly creations: Json[];
  readonly events: Map<string, Json>;
}

const KEYED_LISTS: Readonly<Record<string, string>> = {
  conditions: "type",
  containerStatuses: "name",
  initContainerStatuses: "name",
  ephemeralContainerStatuses: "name",
};

// A probe that meets the end of its container, or a busy machine, fails in one way or another; so may the runtime.
const ENDING =
  /probe errored and resulted in unknown state|probe failed: .*Client\.Timeout|ttrpc: closed/;
// Happen once per container.
const COUNTED: ReadonlySet<string> = new Set(["Created", "Started", "Killing"]);

/** The requests about the pods of one namespace, by the pod's name. */
export function podRequests(
  requests: readonly ApiTraceRequest[],
  namespace: string,
  initial: ReadonlyMap<string, PodStatus>,
  names: KnownNames,
): ReadonlyMap<string, PodRequests> {
  const builders = new Map<string, Builder>();
  const builderOf = (pod: string): Builder => {
    const known = builders.get(pod);
    if (known !== undefined) return known;
    const status = JSON.parse(JSON.stringify(initial.get(pod) ?? {})) as Json;
    const made = newBuilder(status);
    builders.set(pod, made);
    return made;
  };
  const eventPods = new Map<string, string>();
  for (const pod of initial.keys()) builderOf(pod);
  for (const request of requests.filter(({ status }) => status < 300)) {
    const [, kind, name] =
      new RegExp(`^/api/v1/namespaces/${namespace}/(pods|events)(?:/([^/]+))?`).exec(
        request.path,
      ) ?? [];
    if (kind === "pods") takePodRequest(builderOf, request, name);
    if (kind === "events") takeEvent(builderOf, eventPods, request, name);
  }
  return new Map([...builders].map(([pod, builder]) => [pod, finish(builder, names)]));
}

function newBuilder(status: Json): Builder {
  return {
    status,
    patches: [],
    statuses: [{ status, atSeconds: Number.NEGATIVE_INFINITY }],
    deletions: [],
    creations: [],
    events: new Map(),
  };
}

function takePodRequest(
  builderOf: (pod: string) => Builder,
  request: ApiTraceRequest,
  name: string | undefined,
): void {
  const { method, body = null, patchType, atSeconds } = request;
  if (method === "POST") {
    const builder = builderOf(textAt(body, "metadata", "name"));
    builder.creations.push(body);
    builder.status = createdStatus(body as unknown as Pod) as unknown as Json;
    builder.statuses.push({ status: builder.status, atSeconds });
    return;
  }
  if (name === undefined) return;
  if (method === "DELETE") builderOf(name).deletions.push(body);
  if (method !== "PATCH") return;
  const builder = builderOf(name);
  const before = builder.status;
  const after = applyStrategicMerge(before, at(body, "status") ?? {}) as Json;
  builder.status = after;
  builder.statuses.push({ status: after, atSeconds });
  if (request.byUser !== true) builder.patches.push({ patchType, body, before, after });
}

function takeEvent(
  builderOf: (pod: string) => Builder,
  eventPods: Map<string, string>,
  { method, body = null }: ApiTraceRequest,
  name: string | undefined,
): void {
  if (method === "POST") {
    const pod = textAt(body, "involvedObject", "name");
    const event = textAt(body, "metadata", "name");
    eventPods.set(event, pod);
    builderOf(pod).events.set(event, body);
    return;
  }
  const pod = eventPods.get(name ?? "");
  if (method !== "PATCH" || pod === undefined || name === undefined) return;
  const { events } = builderOf(pod);
  events.set(name, applyStrategicMerge(events.get(name), body) as Json);
}

function finish(builder: Builder, names: KnownNames): PodRequests {
  const normal = (value: Json): Json => normaliseApiValue(value, names);
  return {
    patches: builder.patches.map(({ patchType, body, before, after }) => ({
      patchType,
      body: normal(body),
      before: normal(before),
      after: normal(after),
    })),
    statusParts: statusParts(
      builder.statuses.map(({ status, atSeconds }) => ({ status: normal(status), atSeconds })),
    ),
    deletions: builder.deletions.map(normal),
    creations: builder.creations.map((body) => withoutBlanks(normal(body))),
    events: eventsBySaid([...builder.events.values()].map((body) => withoutBlanks(normal(body)))),
  };
}

/** A status without what says nothing: what is empty or null. */
function withoutEmpty(value: Json): Json {
  if (isList(value)) return value.map(withoutEmpty);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]): [string, Json] => [key, withoutEmpty(inner)])
      .filter(([key, inner]) => inner !== null && !(key === "resources" && isEmpty(inner))),
  );
}

function isEmpty(value: Json): boolean {
  return isObject(value) && Object.values(value).every((inner) => inner === null || isEmpty(inner));
}

/** The values that each part of a status had, one after the other. */
function statusParts(statuses: readonly TimedStatus[]): ReadonlyMap<string, readonly PartValue[]> {
  const parts = new Map<string, { readonly value: Json; readonly atSeconds: number }[]>();
  for (const { status, atSeconds } of statuses) {
    const current = partsOf(status);
    // What the pod's cgroup is set to, read while it is made or removed, depends on the moment.
    current.delete("resources");
    for (const name of new Set([...parts.keys(), ...current.keys()])) {
      const values = parts.get(name) ?? [];
      const value = current.get(name) ?? null;
      const isSame = JSON.stringify(values.at(-1)?.value ?? null) === JSON.stringify(value);
      if (!isSame) values.push({ value, atSeconds });
      parts.set(name, values);
    }
  }
  return new Map([...parts].map(([name, values]) => [name, values.map(withDuration)]));
}

function withDuration(
  { value, atSeconds }: { readonly value: Json; readonly atSeconds: number },
  index: number,
  all: readonly { readonly atSeconds: number }[],
): PartValue {
  const untilSeconds = all[index + 1]?.atSeconds ?? Number.POSITIVE_INFINITY;
  return { value, seconds: untilSeconds - atSeconds };
}

/** The parts of a status: each condition, each container, and the other fields. */
export function partsOf(status: Json): Map<string, Json> {
  const full = withoutEmpty(status);
  if (!isObject(full)) return new Map();
  return new Map(
    Object.entries(full).flatMap(([field, value]): [string, Json][] => {
      const key = KEYED_LISTS[field];
      if (key === undefined || !isList(value)) return [[field, sorted(value)]];
      return value.map((element) => [`${field}.${textAt(element, key)}`, sorted(element)]);
    }),
  );
}

/** With fields in the order of their names: equal values are equal texts. */
function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}

function eventsBySaid(events: readonly Json[]): { readonly [said: string]: Json } {
  const kept = events.filter((event) => !ENDING.test(textAt(event, "message")));
  return Object.fromEntries(
    kept.map((event) => {
      const words = [
        textAt(event, "reason"),
        textAt(event, "involvedObject", "fieldPath"),
        textAt(event, "message"),
      ];
      return [words.filter((word) => word !== "").join(" "), comparableEvent(event)];
    }),
  );
}

/** Names of events end with the moment, and how often most things happen depends on it. */
function comparableEvent(event: Json): Json {
  if (!isObject(event)) return event;
  const name = textAt(event, "metadata", "name").replace(/\.[0-9a-f]+$/, ".<moment>");
  const namespace = textAt(event, "metadata", "namespace");
  const { count = 0, ...rest } = event;
  const counted = COUNTED.has(textAt(event, "reason")) ? { count } : {};
  return { ...rest, ...counted, metadata: { name, namespace } };
}
