// What makes the agent a node of its cluster.
import { parseRegisteredDevices } from "../../../core/node/device-checkpoint.ts";
import { NodeAgent } from "../../node/node-agent.ts";
import type { AgentParts } from "../agent-parts.ts";

/** Undefined where the node belongs to no cluster. */
export function composeNode(parts: AgentParts): NodeAgent | undefined {
  const { api, clock, random, log, metrics, nodeFacts, hostUsage, runtime } = parts.ports;
  const { cluster } = parts;
  if (api === undefined || cluster === undefined) return undefined;
  return new NodeAgent({
    api: parts.ports.heartbeatApi ?? api,
    clock,
    random,
    log,
    metrics,
    cgroupVersion: parts.ports.cgroups.version,
    settings: parts.settings.nodeSettings,
    rootFolder: parts.settings.rootFolder,
    facts: nodeFacts,
    usage: hostUsage,
    runtime,
    runtimeReport: () => parts.health.report,
    pressures: () => parts.eviction.pressures,
    problems: () => [parts.shutdown?.problem].filter((problem) => problem !== undefined),
    readFormerDevices: async () => {
      const record = `${parts.settings.rootFolder}/device-plugins/kubelet_internal_checkpoint`;
      return parseRegisteredDevices((await parts.ports.files.readText(record)) ?? "");
    },
    // No volume that needs attaching is supported, so none is in use.
    volumesInUse: () => [],
    knownNode: () => cluster.node,
    recordNodeEvent: (event) => cluster.events.recordNode(event),
  });
}
