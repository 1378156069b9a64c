import {
  initialNode,
  type NodeRegistrationSettings,
  reconcileNode,
} from "../../core/node/node-registration.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { ApiError, isApiStatus } from "../../model/api-error.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { NodeApi } from "./node-api.ts";
import type { NodeStartup } from "./node-startup.ts";
import type { NodeStatusSource } from "./node-status-source.ts";

const retryLimits = { initialMs: 100, maxMs: 7_000 };

export interface NodeRegistrarDeps {
  readonly nodes: NodeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: NodeRegistrationSettings;
  readonly source: NodeStatusSource;
  readonly startup: NodeStartup;
  readonly events: NodeEvents;
}

/** Registers the node with the API server; retries until that is done. Returns the node as the server has it. */
export async function registerNode(deps: NodeRegistrarDeps, signal: AbortSignal): Promise<Node> {
  const { clock, log, settings, source, startup } = deps;
  startup.noteAttempt();
  const backoff = new Backoff(retryLimits);
  while (true) {
    await clock.sleep(backoff.nextMs(), signal);
    const { node, events, problems } = await source.compute(initialNode(settings), false, signal);
    for (const problem of problems)
      log.warn("cannot determine all of the node status", { problem });
    try {
      const registered = await createOrReconcile(deps, node, signal);
      log.info("registered the node", { node: settings.nodeName });
      for (const event of events) deps.events.recordNode(event);
      return registered;
    } catch (error) {
      signal.throwIfAborted();
      log.warn("cannot register the node, will retry", {
        node: settings.nodeName,
        error: errorText(error),
      });
    }
  }
}

async function createOrReconcile(
  { nodes, log, startup }: NodeRegistrarDeps,
  node: Node,
  signal: AbortSignal,
): Promise<Node> {
  try {
    const created = await nodes.create(node, signal);
    startup.noteCreated();
    return created;
  } catch (error) {
    const isThere = error instanceof ApiError && error.reason === "AlreadyExists";
    // An agent that may not create nodes may use the one that was created for it.
    if (!isThere && !isApiStatus(error, 403)) throw error;
  }
  const existing = await nodes.read(signal);
  log.info("the node was registered before", { node: existing.metadata?.name });
  const reconciled = reconcileNode(node, existing, false);
  if (!reconciled.requiresUpdate) return existing;
  return await nodes.patchStatus(existing, reconciled.node, signal);
}
