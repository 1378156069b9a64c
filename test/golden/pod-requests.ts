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

/** What the node said to the API server of one pod, in a form that two machines can agree on. */
export interface PodRequests {
  readonly patches: readonly StatusPatch[];
  /** By part of the status, such as conditions.Ready: its values one after the other. */
  readonly statusParts: ReadonlyMap<string, readonly Json[]>;
  /** The bodies of deletions and creations. */
  readonly deletions: readonly Json[];
  readonly creations: readonly Json[];
  /** By what they say: the events, as they became. */
  readonly events: { readonly [said: string]: Json };
}

interface Builder {
  status: Json;
  readonly patches: StatusPatch[];
  readonly statuses: Json[];
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
    const status = (initial.get(pod) ?? {}) as unknown as Json;
    const made = newBuilder(status);
    builders.set(pod, made);
    return made;
  };
  const eventPods = new Map<string, string>();
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
    statuses: [status],
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
  const { method, body = null, patchType } = request;
  if (method === "POST") {
    const builder = builderOf(textAt(body, "metadata", "name"));
    builder.creations.push(body);
    builder.status = createdStatus(body as unknown as Pod) as unknown as Json;
    builder.statuses.push(builder.status);
    return;
  }
  if (name === undefined) return;
  if (method === "DELETE") builderOf(name).deletions.push(body);
  if (method !== "PATCH") return;
  const builder = builderOf(name);
  const before = builder.status;
  const after = applyStrategicMerge(before, at(body, "status") ?? {}) as Json;
  builder.status = after;
  builder.statuses.push(after);
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
    statusParts: statusParts(builder.statuses.map((status) => normaliseStatus(normal(status)))),
    deletions: builder.deletions.map(normal),
    creations: builder.creations.map((body) => withoutBlanks(normal(body))),
    events: eventsBySaid([...builder.events.values()].map((body) => withoutBlanks(normal(body)))),
  };
}

/** A status without what says nothing: what is empty or null. */
export function normaliseStatus(value: Json): Json {
  if (isList(value)) return value.map(normaliseStatus);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]): [string, Json] => [key, normaliseStatus(inner)])
      .filter(([key, inner]) => inner !== null && !(key === "resources" && isEmpty(inner))),
  );
}

function isEmpty(value: Json): boolean {
  return isObject(value) && Object.values(value).every((inner) => inner === null || isEmpty(inner));
}

/** The values that each part of a status had, one after the other. */
function statusParts(statuses: readonly Json[]): ReadonlyMap<string, readonly Json[]> {
  const parts = new Map<string, Json[]>();
  for (const status of statuses) {
    const current = partsOf(status);
    for (const name of new Set([...parts.keys(), ...current.keys()])) {
      const values = parts.get(name) ?? [];
      const value = current.get(name) ?? null;
      if (JSON.stringify(values.at(-1) ?? null) !== JSON.stringify(value)) values.push(value);
      parts.set(name, values);
    }
  }
  return parts;
}

function partsOf(status: Json): ReadonlyMap<string, Json> {
  if (!isObject(status)) return new Map();
  return new Map(
    Object.entries(status).flatMap(([field, value]): [string, Json][] => {
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
  return Object.fromEntries(
    events.map((event) => {
      const said = `${textAt(event, "reason")} ${textAt(event, "involvedObject", "fieldPath")} ${textAt(event, "message")}`;
      return [said, withoutName(event)];
    }),
  );
}

/** Names of events end with the moment. */
function withoutName(event: Json): Json {
  const name = textAt(event, "metadata", "name").replace(/\.[0-9a-f]+$/, ".<moment>");
  const namespace = textAt(event, "metadata", "namespace");
  return isObject(event) ? { ...event, metadata: { name, namespace } } : event;
}
