// /api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers: containers for a pod that runs already.
import type { IncomingMessage } from "node:http";
import {
  type EphemeralChangeKind,
  parseEphemeralChange,
} from "../model/manifest/ephemeral-change.ts";
import { validateEphemeralUpdate } from "../model/validate/ephemeral-update.ts";
import { formatFieldError } from "../model/validate/field-error.ts";
import type { AgentView } from "../ports/agent-view.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import type { PodFeed } from "./pod-feed.ts";
import { findPod } from "./pod-routes.ts";
import { readBody } from "./read-body.ts";
import { type Route, route } from "./router.ts";

const maxBodyBytes = 1024 * 1024;

const path = "/api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers";

export function ephemeralRoutes(view: AgentView, feed: PodFeed): readonly Route<Exchange>[] {
  return [
    route(["GET"], path, ({ namespace, name }, { response }: Exchange) =>
      sendJson(response, feed.present(findPod(view, namespace, name))),
    ),
    route(["PUT", "PATCH"], path, async ({ namespace, name }, exchange: Exchange) => {
      const kind = changeKind(exchange.request);
      const text = await readBody(exchange.request, maxBodyBytes);
      const pod = findPod(view, namespace, name);
      const change = parseEphemeralChange(pod, kind, text);
      if (!change.ok) throw new HttpError("BadRequest", change.error);
      const errors = validateEphemeralUpdate(pod, change.value);
      if (errors.length > 0) {
        const list = errors.map(formatFieldError).join(", ");
        throw new HttpError("Invalid", `Pod "${name}" is invalid: ${list}`);
      }
      const changed = await view.setEphemeralContainers(pod, change.value);
      sendJson(exchange.response, feed.present(changed));
    }),
  ];
}

function changeKind({ method, headers }: IncomingMessage): EphemeralChangeKind {
  const type = (headers["content-type"] ?? "application/json").split(";")[0]?.trim() ?? "";
  if (method === "PUT" && type === "application/json") return "replace";
  if (method === "PATCH" && type === "application/merge-patch+json") return "replace";
  if (method === "PATCH" && type === "application/strategic-merge-patch+json") {
    return "merge-by-name";
  }
  throw new HttpError(
    "UnsupportedMediaType",
    `a ${method} of ${type} is not supported: PUT application/json, or PATCH application/strategic-merge-patch+json or application/merge-patch+json`,
  );
}
