// /api/v1/events: what happened to pods.
import type { Event } from "../model/generated/kubernetes.ts";
import type { AgentView } from "../ports/agent-view.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { parseFieldSelector, type SelectableFields } from "./field-selector.ts";
import { type Route, route } from "./router.ts";

const eventFields: SelectableFields<Event> = {
  "involvedObject.kind": ({ involvedObject }) => involvedObject.kind,
  "involvedObject.namespace": ({ involvedObject }) => involvedObject.namespace,
  "involvedObject.name": ({ involvedObject }) => involvedObject.name,
  "involvedObject.uid": ({ involvedObject }) => involvedObject.uid,
  "involvedObject.fieldPath": ({ involvedObject }) => involvedObject.fieldPath,
  "metadata.name": ({ metadata }) => metadata.name,
  "metadata.namespace": ({ metadata }) => metadata.namespace,
  reason: ({ reason }) => reason,
  type: ({ type }) => type,
};

export function eventRoutes(view: AgentView): readonly Route<Exchange>[] {
  const list = (namespace: string | undefined, { query, response }: Exchange): void => {
    const selects = parseFieldSelector(query.get("fieldSelector"), eventFields);
    const items = view
      .listEvents()
      .filter((event) => namespace === undefined || event.metadata.namespace === namespace)
      .filter(selects);
    sendJson(response, { kind: "EventList", apiVersion: "v1", metadata: {}, items });
  };
  return [
    route(["GET"], "/api/v1/events", (_, exchange: Exchange) => list(undefined, exchange)),
    route(["GET"], "/api/v1/namespaces/{namespace}/events", ({ namespace }, exchange: Exchange) =>
      list(namespace, exchange),
    ),
  ];
}
