// What makes the agent a node of its cluster.
import { CsiNode } from "../../node/csi-node.ts";
import { NodeAgent } from "../../node/node-agent.ts";
import { NodeStartup } from "../../node/node-startup.ts";
import { NodeStatusSource } from "../../node/node-status-source.ts";
import type { AgentParts } from "../agent-parts.ts";

/** Undefined where the node belongs to no cluster. */
export function composeNode(parts: AgentParts): NodeAgent | undefined {
  const { ports, cluster, health, eviction, shutdown } = parts;
  const { clock, random, log, metrics, nodeFacts, hostUsage, runtime, files } = ports;
  const { nodeSettings: settings, rootFolder } = parts.settings;
  const api = ports.heartbeatApi ?? ports.api;
  if (api === undefined || cluster === undefined) return undefined;
  const { nodeName } = settings;
  const csiNode = new CsiNode({ api, log, nodeName });
  const source = new NodeStatusSource({
    settings,
    rootFolder,
    clock,
    facts: nodeFacts,
    usage: hostUsage,
    runtime,
    files,
    health,
    eviction,
    readiness: shutdown === undefined ? [csiNode] : [csiNode, shutdown],
  });
  const startup = new NodeStartup({
    metrics,
    clock,
    events: cluster.events,
    nodeName,
    bootTimeMs: hostUsage.bootTimeMs,
    cgroupVersion: ports.cgroups.version,
  });
  return new NodeAgent({
    api,
    settings,
    clock,
    random,
    log,
    runtime,
    cluster,
    source,
    csiNode,
    startup,
  });
}
