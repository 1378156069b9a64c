import { ContainerCheckpoints } from "../../node/container-checkpoints.ts";
import { NodeHost } from "../../node/node-host.ts";
import type { AgentParts } from "../agent-parts.ts";

const defaultResyncMs = 60_000;

/** What the kubelet's API may have done. */
export function composeHost(parts: AgentParts): NodeHost {
  const { runtime, files, hostUsage, clock } = parts.ports;
  const { rootFolder, resyncIntervalMs = defaultResyncMs } = parts.settings;
  return new NodeHost({
    runtime,
    clock,
    observed: parts.observed,
    loop: parts.loop,
    resyncIntervalMs,
    checkpoints: new ContainerCheckpoints({
      runtime,
      files,
      hostUsage,
      clock,
      folder: `${rootFolder}/checkpoints`,
    }),
  });
}
