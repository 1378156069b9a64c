import { setTimeout as delay } from "node:timers/promises";
import { type ApiTraceRequest, recordedRequests } from "./api-trace.ts";
import { withoutBlanks } from "./api-values.ts";
import type { Comparison } from "./compare-scenario.ts";
import { valueDifferences } from "./difference.ts";
import type { GoldenWorld } from "./golden-world.ts";
import { isList, isObject, textAt } from "./json-path.ts";
import { type Json, loadRecording } from "./recording.ts";

const POLL_MS = 200;
const REGISTERED_MS = 40_000;
// Identities, times and what a machine has: every node's own.
const OWN =
  /^(.*Time|.*Timestamp|resourceVersion|uid|.*ID|.*UUID|.*Version|osImage|address|cpu|memory|ephemeral-storage|hugepages-.*|pods|Port)$/;

/** Compares how a node that its cluster does not know introduces itself, up to the first renewal of its lease. */
export async function compareRegistration(world: GoldenWorld, name: string): Promise<Comparison> {
  const isRenewal = ({ method, path }: ApiTraceRequest): boolean =>
    method === "PUT" && path.includes("/leases/");
  for (let waitedMs = 0; !world.api.requests.some(isRenewal); waitedMs += POLL_MS) {
    if (waitedMs > REGISTERED_MS) throw new Error("not in time: the node renews its lease");
    await delay(POLL_MS);
  }
  const { api } = loadRecording(name);
  const differences = valueDifferences(
    "node",
    introduction(recordedRequests(api)),
    introduction(world.api.requests),
  );
  return {
    calls: 0,
    requests: api.length,
    differences: differences.map((difference) => ({ ...difference, pod: "" })),
  };
}

/** By what is asked for: the first request of each kind, as far as two nodes can agree on it. */
function introduction(requests: readonly ApiTraceRequest[]): { readonly [request: string]: Json } {
  return Object.fromEntries(
    requests.toReversed().flatMap((request): [string, Json][] => {
      const { method, path, watch } = request;
      if (/\/namespaces\/g-/.test(path)) return [];
      if (path.endsWith("/events"))
        return [[`event ${textAt(request.body, "reason")}`, said(request)]];
      if (path.includes("/events/")) return [];
      return [[`${watch ? "watch" : method} ${path}`, asked(request)]];
    }),
  );
}

function asked({ method, path, query, body = null }: ApiTraceRequest): Json {
  const { timeoutSeconds: _, watch: __, timeout, ...rest } = query;
  // How long a watch may take is random, how long a request may take is not.
  const limited =
    timeout === undefined || "sendInitialEvents" in rest ? rest : { ...rest, timeout };
  // The content of a patch depends on the one before.
  const sent = path.endsWith("/status") ? {} : { body: comparable("", withoutBlanks(body)) };
  return { query: limited, ...(method === "GET" ? {} : sent) };
}

function said({ body = null }: ApiTraceRequest): Json {
  const event = withoutBlanks(body);
  if (!isObject(event)) return event;
  const { metadata: _, ...rest } = event;
  return comparable("", rest);
}

function comparable(name: string, value: Json): Json {
  if (name === "images") return "<own>";
  if (isList(value)) return value.map((element) => comparable("", element));
  if (!isObject(value)) return OWN.test(name) ? "<own>" : value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "managedFields")
      .map(([key, inner]) => [key, comparable(key, inner)]),
  );
}
