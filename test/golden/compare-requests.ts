import { align } from "./align.ts";
import type { ApiTraceRequest } from "./api-trace.ts";
import { normaliseApiValue, withoutBlanks } from "./api-values.ts";
import { type Difference, valueDifferences } from "./difference.ts";
import { at, isObject, textAt } from "./json-path.ts";
import type { KnownNames } from "./known-names.ts";
import type { PartValue, PodRequests, StatusPatch } from "./pod-requests.ts";
import type { Json } from "./recording.ts";

// An agent that looks once a second does not see what lasts less; on a busy machine starts and stops take their time.
const FOLDED_SECONDS = 4;

/** Every difference between what two nodes said of one pod. */
export function compareRequests(recorded: PodRequests, berth: PodRequests): readonly Difference[] {
  const parts = new Set([...recorded.statusParts.keys(), ...berth.statusParts.keys()]);
  return [
    ...[...parts].flatMap((part) =>
      partDifferences(
        `status.${part}`,
        recorded.statusParts.get(part) ?? [],
        berth.statusParts.get(part) ?? [],
      ),
    ),
    ...patchDifferences(recorded.patches, berth.patches),
    ...valueDifferences("events", recorded.events, berth.events),
    ...valueDifferences("deletions", recorded.deletions, berth.deletions),
    ...valueDifferences("creations", recorded.creations, berth.creations),
  ];
}

/**
 * The values that a part of the status had: whether they are the same, in the same order. One that did not last may
 * be missing on either side: then two changes went in one request.
 */
function partDifferences(
  path: string,
  recorded: readonly PartValue[],
  berth: readonly PartValue[],
): readonly Difference[] {
  let before: string | undefined;
  return align(recorded, berth, ({ value }) => summary(value)).flatMap((pair) => {
    const only = pair.recorded ?? pair.berth;
    if (only === undefined) return [];
    const said = summary(only.value);
    const isPaired = pair.recorded !== undefined && pair.berth !== undefined;
    // Without what was between them, two equal values are one.
    if (!isPaired && (only.seconds < FOLDED_SECONDS || said === before)) return [];
    if (isPaired) before = said;
    return valueDifferences(`${path} (${said})`, pair.recorded?.value, pair.berth?.value);
  });
}

/** What a value of a part of the status is about. */
function summary(value: Json): string {
  const state = at(value, "state");
  if (isObject(state)) {
    const [kind = ""] = Object.keys(state);
    const restarts = Number(at(value, "restartCount") ?? 0);
    const id = textAt(value, "containerID").replace(/^.*:\/\//, "");
    return [kind, textAt(state, kind, "reason"), `restarts ${restarts}`, readiness(value), id]
      .filter((word) => word !== "")
      .join(" ");
  }
  if (isObject(value) && "status" in value) {
    const generation = at(value, "observedGeneration");
    return [
      textAt(value, "status"),
      textAt(value, "reason"),
      textAt(value, "message"),
      generation === undefined ? "" : `generation ${JSON.stringify(generation)}`,
    ]
      .filter((word) => word !== "")
      .join(" ");
  }
  return JSON.stringify(value);
}

function readiness(value: Json): string {
  return at(value, "ready") === true ? "ready" : at(value, "started") === true ? "started" : "";
}

/** The same change must have the same body. */
function patchDifferences(
  recorded: readonly StatusPatch[],
  berth: readonly StatusPatch[],
): readonly Difference[] {
  const change = ({ before, after }: StatusPatch): string => JSON.stringify([before, after]);
  const byChange = new Map(recorded.map((patch) => [change(patch), patch]));
  return berth.flatMap((patch, index) => {
    const same = byChange.get(change(patch));
    const path = `patch ${index}`;
    if (same === undefined) return formDifferences(path, patch);
    return [
      ...valueDifferences(`${path} type`, same.patchType, patch.patchType),
      ...valueDifferences(path, same.body, patch.body),
    ];
  });
}

/** A change that was not recorded like this: it names its pod, and touches nothing but the status. */
function formDifferences(path: string, { patchType, body }: StatusPatch): readonly Difference[] {
  const fields = isObject(body) ? Object.keys(body).toSorted() : [];
  return [
    ...valueDifferences(`${path} type`, "application/strategic-merge-patch+json", patchType ?? ""),
    ...valueDifferences(`${path} fields`, ["metadata", "status"], fields),
    ...valueDifferences(`${path}.metadata`, { uid: "<uid>" }, at(body, "metadata")),
  ];
}

/** What a node asks for on behalf of all pods of a namespace. */
export function namespaceRequests(
  requests: readonly ApiTraceRequest[],
  namespace: string,
  names: KnownNames,
): { readonly [request: string]: Json } {
  const within = `/api/v1/namespaces/${namespace}/`;
  const wanted = requests.filter(
    ({ path, method, watch }) => path.startsWith(within) && (watch || method === "POST"),
  );
  // Of several requests of one kind the first: later ones may go on from what it answered.
  return Object.fromEntries(
    wanted.toReversed().flatMap((request): [string, Json][] => {
      const place = request.path.slice(within.length);
      if (request.watch)
        return [[`watch ${place} ${request.query["fieldSelector"] ?? ""}`, watchQuery(request)]];
      if (!place.endsWith("/token")) return [];
      const body = withoutBlanks(normaliseApiValue(request.body ?? null, names));
      const pod = textAt(body, "spec", "boundObjectRef", "name");
      const audiences = JSON.stringify(at(body, "spec", "audiences") ?? []);
      return [[`token ${place} for ${pod} ${audiences}`, body]];
    }),
  );
}

// The timeout of a watch is random.
function watchQuery({ query }: ApiTraceRequest): Json {
  const { timeout: _, timeoutSeconds: __, watch: ___, ...rest } = query;
  return rest;
}
