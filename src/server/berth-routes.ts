// What no kubelet answers: Berth's own view of itself, and why it did what it did.

import { kubernetesVersion } from "../lib/version.ts";
import { podUid } from "../model/ids.ts";
import type { AgentView } from "../ports/agent-view.ts";
import { type Exchange, sendJson, sendLines, sendText } from "./exchange.ts";
import { notFound } from "./http-error.ts";
import { readFlag } from "./query.ts";
import { type Route, route } from "./router.ts";

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
    route(["GET"], "/berth/v1/gc", async (_, { response, query, signal }: Exchange) => {
      sendJson(response, { items: await view.planGc({ all: readFlag(query, "all") }, signal) });
    }),
    route(["POST"], "/berth/v1/gc", async (_, { response, query, signal }: Exchange) => {
      const options = { all: readFlag(query, "all") };
      sendJson(response, { items: await view.collectGarbage(options, signal) });
    }),
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
