// /api/v1/pods: listing, reading and watching.

import { timeoutSignal } from "../lib/timers.ts";
import type { PodUid } from "../model/ids.ts";
import { parseLabelSelector } from "../model/label-selector.ts";
import type { Pod } from "../model/pod.ts";
import type { AgentView, PodChange } from "../ports/agent-view.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { parseFieldSelector, type SelectableFields } from "./field-selector.ts";
import { HttpError, notFound } from "./http-error.ts";
import type { PodFeed } from "./pod-feed.ts";
import { readCount, readFlag } from "./query.ts";
import { type Route, route } from "./router.ts";

type PodSelector = (pod: Pod) => boolean;

/** A watcher that reads slower than pods change is cut off; it lists again and loses nothing. */
const maxUnreadBytes = 16 * 1024 * 1024;
const longestTimeoutSeconds = 86_400;

const podFields: SelectableFields<Pod> = {
  "metadata.name": (pod) => pod.metadata.name,
  "metadata.namespace": (pod) => pod.metadata.namespace,
  "metadata.uid": (pod) => pod.metadata.uid,
  "spec.nodeName": (pod) => pod.spec.nodeName,
  "spec.restartPolicy": (pod) => pod.spec.restartPolicy,
  "status.phase": (pod) => pod.status?.phase,
  "status.podIP": (pod) => pod.status?.podIP,
};

export function podRoutes(view: AgentView, feed: PodFeed): readonly Route<Exchange>[] {
  return [
    route(["GET"], "/api/v1/pods", (_, exchange: Exchange) => listPods(feed, undefined, exchange)),
    route(["GET"], "/api/v1/namespaces/{namespace}/pods", ({ namespace }, exchange: Exchange) =>
      listPods(feed, namespace, exchange),
    ),
    route(
      ["GET"],
      "/api/v1/namespaces/{namespace}/pods/{name}",
      ({ namespace, name }, { response }: Exchange) =>
        sendJson(response, feed.present(findPod(view, namespace, name))),
    ),
  ];
}

/** The pod, or the refusal that says that there is none. */
export function findPod(view: AgentView, namespace: string, name: string): Pod {
  const pod = view.findPod(namespace, name);
  if (pod === undefined) throw notFound("pods", name);
  return pod;
}

function listPods(feed: PodFeed, namespace: string | undefined, exchange: Exchange): void {
  const selects = podSelector(exchange.query, namespace);
  if (readFlag(exchange.query, "watch")) {
    watchPods(feed, selects, exchange);
    return;
  }
  const items = feed.list().filter(selects).toSorted(byNamespaceAndName);
  const metadata = { resourceVersion: feed.version };
  sendJson(exchange.response, { kind: "PodList", apiVersion: "v1", metadata, items });
}

function podSelector(query: URLSearchParams, namespace: string | undefined): PodSelector {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  if (!labels.ok) throw new HttpError("BadRequest", labels.error);
  const fields = parseFieldSelector(query.get("fieldSelector"), podFields);
  return (pod) =>
    (namespace === undefined || pod.metadata.namespace === namespace) &&
    labels.value(pod.metadata.labels) &&
    fields(pod);
}

/** One JSON object per line. Without a version it begins with what is there. */
function watchPods(feed: PodFeed, selects: PodSelector, exchange: Exchange): void {
  const { query, response, signal } = exchange;
  const timeoutSeconds = readCount(query, "timeoutSeconds");
  const version = query.get("resourceVersion") ?? "";
  const fromStart = version === "" || version === "0";
  const missed = fromStart ? [] : feed.since(version);
  if (missed === undefined) {
    throw new HttpError("Expired", `too old resource version: ${version} (${feed.version})`);
  }
  const seconds = Math.min(timeoutSeconds ?? longestTimeoutSeconds, longestTimeoutSeconds);
  const ended = AbortSignal.any([signal, timeoutSignal(seconds * 1000)]);
  response.writeHead(200, { "Content-Type": "application/json" });
  response.flushHeaders();
  const send = (event: PodChange): void => {
    response.write(`${JSON.stringify({ type: event.type, object: event.pod })}\n`);
    if (response.writableLength > maxUnreadBytes) response.destroy();
  };
  const shown = fromStart ? new Set<string>() : shownAt(version, missed, feed, selects);
  const forward = (change: PodChange): void => {
    const event = visibleChange(change, shown, selects);
    if (event !== undefined) send(event);
  };
  if (fromStart) for (const pod of feed.list()) forward({ type: "ADDED", pod });
  for (const change of missed) forward(change);
  feed.subscribe(forward, ended);
  ended.addEventListener("abort", () => response.end(), { once: true });
}

/** The pods of the selection that a client saw in its list of that version, and so without the changes since. */
function shownAt(
  version: string,
  missed: readonly PodChange[],
  feed: PodFeed,
  selects: PodSelector,
): Set<PodUid> {
  const shown = new Set(feed.list().filter(selects).map(uidOf));
  const changed = new Set<PodUid>();
  for (const { type, pod } of missed) {
    const uid = uidOf(pod);
    if (changed.has(uid)) continue;
    changed.add(uid);
    if (type !== "ADDED" && selects(feed.at(version, uid) ?? pod)) shown.add(uid);
    else shown.delete(uid);
  }
  return shown;
}

function uidOf({ metadata }: Pod): PodUid {
  return metadata.uid;
}

/** A pod that comes into a selection is added to it, one that leaves it is deleted from it. */
function visibleChange(
  { type, pod }: PodChange,
  shown: Set<string>,
  selects: PodSelector,
): PodChange | undefined {
  const { uid } = pod.metadata;
  const wasShown = shown.has(uid);
  if (type === "DELETED" || !selects(pod)) {
    if (!wasShown) return undefined;
    shown.delete(uid);
    return { type: "DELETED", pod };
  }
  shown.add(uid);
  return { type: wasShown ? "MODIFIED" : "ADDED", pod };
}

function byNamespaceAndName(a: Pod, b: Pod): number {
  const first = `${a.metadata.namespace}/${a.metadata.name}`;
  const second = `${b.metadata.namespace}/${b.metadata.name}`;
  return first < second ? -1 : first > second ? 1 : 0;
}
