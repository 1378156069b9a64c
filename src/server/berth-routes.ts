// What no kubelet answers: Berth's own view of itself, and why it did what it did.

import { errorText } from "../lib/error-text.ts";
import { parseJsonText } from "../lib/json-text.ts";
import { kubernetesVersion } from "../lib/version.ts";
import { podUid } from "../model/ids.ts";
import type { Pod } from "../model/pod.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { SyncRecord } from "../ports/sync-record.ts";
import { type Exchange, sendJson, sendLines, sendText } from "./exchange.ts";
import { HttpError, notFound } from "./http-error.ts";
import { readFlag } from "./query.ts";
import { readBody } from "./read-body.ts";
import { type Route, route } from "./router.ts";

/** A folder of manifests. */
const maxPlanBytes = 16 * 1024 * 1024;
/** A watcher that reads slower than pods are synced is cut off. */
const maxUnreadBytes = 16 * 1024 * 1024;

export function berthRoutes(view: AgentView): readonly Route<Exchange>[] {
  return [
    route(["GET"], "/healthz", (_, { response }: Exchange) => sendText(response, "ok")),
    route(["GET"], "/version", (_, { response }: Exchange) =>
      sendJson(response, {
        major: "1",
        minor: kubernetesVersion.split(".")[1],
        gitVersion: `${kubernetesVersion}+berth-${view.info().version}`,
        platform: "linux",
      }),
    ),
    route(["GET"], "/berth/v1/info", (_, { response }: Exchange) =>
      sendJson(response, view.info()),
    ),
    route(["GET"], "/berth/v1/problems", (_, { response }: Exchange) =>
      sendJson(response, { problems: view.problems(), ignoredFiles: view.ignoredFiles() }),
    ),
    route(["GET"], "/berth/v1/stats", async (_, { response, signal }: Exchange) => {
      sendJson(response, await view.readStats(signal));
    }),
    route(["GET"], "/berth/v1/node", (_, { response }: Exchange) =>
      sendJson(response, view.describeNode()),
    ),
    route(["GET"], "/berth/v1/images", async (_, { response, signal }: Exchange) => {
      sendJson(response, { items: await view.listImages(signal) });
    }),
    route(["PUT"], "/berth/v1/plan", async (_, { request, response }: Exchange) => {
      const pods = parsePods(await readBody(request, maxPlanBytes));
      sendJson(response, { items: await view.rehearse(pods) });
    }),
    route(["GET"], "/berth/v1/gc", async (_, { response, query, signal }: Exchange) => {
      sendJson(response, { items: await view.planGc({ all: readFlag(query, "all") }, signal) });
    }),
    route(["POST"], "/berth/v1/gc", async (_, { response, query, signal }: Exchange) => {
      const options = { all: readFlag(query, "all") };
      sendJson(response, { items: await view.collectGarbage(options, signal) });
    }),
    route(["GET"], "/berth/v1/syncs", (_, exchange: Exchange) => watchSyncs(view, exchange)),
    route(["GET"], "/berth/v1/recording", (_, { response, query, signal }: Exchange) => {
      const uid = query.get("uid");
      return sendLines(response, view.recording(uid === null ? undefined : podUid(uid)), signal);
    }),
    route(
      ["GET"],
      "/berth/v1/pods/{uid}/explanation",
      async ({ uid }, { response, signal }: Exchange) => {
        if (!view.listPods().some(({ metadata }) => metadata.uid === uid)) {
          throw notFound("pods", uid);
        }
        sendJson(response, await view.explain(podUid(uid), signal));
      },
    ),
  ];
}

/** One line of JSON for each from now on. */
function watchSyncs(view: AgentView, { query, response, signal }: Exchange): void {
  const uid = query.get("uid");
  response.writeHead(200, { "Content-Type": "application/jsonl" });
  response.flushHeaders();
  const send = (record: SyncRecord): void => {
    if (uid !== null && record.podUid !== uid) return;
    response.write(`${JSON.stringify(record)}\n`);
    if (response.writableLength > maxUnreadBytes) response.destroy();
  };
  view.watchSyncs(send, signal);
  signal.addEventListener("abort", () => response.end(), { once: true });
}

/** As `berth plan` sends them, which has validated them. */
function parsePods(text: string): readonly Pod[] {
  const expected = 'the body has to be {"pods": [...]}, each with metadata and spec';
  try {
    const { pods } = parseJsonText(text) as { readonly pods?: readonly Partial<Pod>[] };
    if (pods?.every(({ metadata, spec }) => metadata?.uid !== undefined && spec?.containers)) {
      return pods as readonly Pod[];
    }
  } catch (error) {
    throw new HttpError("BadRequest", `${expected}: ${errorText(error)}`);
  }
  throw new HttpError("BadRequest", expected);
}
