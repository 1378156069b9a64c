import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeAgent } from "../cluster/support/cluster-node.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { systemdPrograms } from "../cluster/support/node-machine.ts";
import { buildProgram } from "../integration/support/agent-process.ts";
import type { RuntimeWorld } from "../integration/support/runtime-world.ts";

const root = join(import.meta.dirname, "../../..");

/** What e2e_node.test needs to start this agent as its kubelet. */
export function nodeSuiteFlags(
  agent: NodeAgent,
  world: RuntimeWorld,
  address: string,
  folder: string,
): { readonly flags: readonly string[]; readonly environment: readonly string[] } {
  const [programs, units, reports] = ["programs", "units", "reports"].map((name) => {
    const path = join(folder, name);
    mkdirSync(path);
    return path;
  }) as [string, string, string];
  writeFileSync(join(programs, "kubelet"), kubeletScript(agent), { mode: 0o755 });
  const config = join(folder, "base-config.yaml");
  writeFileSync(config, JSON.stringify(baseConfig(world.cgroupRoot), null, 1));
  const system = join(folder, "system.yaml");
  writeFileSync(system, JSON.stringify({ os: "Linux", kernelSpec: { versions: [".*"] } }));
  const kubeletFlags = [`--node-ip=${address}`, `--kubelet-cgroups=${world.cgroupRoot}/agent`];
  return {
    flags: [
      `--k8s-bin-dir=${programs}`,
      `--container-runtime-endpoint=${world.containerd.endpoint}`,
      "--prepull-images=false",
      "--node-name=node-a",
      `--report-dir=${reports}`,
      `--system-spec-file=${system}`,
      `--kubelet-config-file=${config}`,
      `--kubelet-flags=${kubeletFlags.join(" ")}`,
    ],
    environment: [`PATH=${systemdPrograms}:${process.env["PATH"]}`, `UNIT_FOLDER=${units}`],
  };
}

function kubeletScript(agent: NodeAgent): string {
  if (agent === "kubelet") return `#!/bin/sh\nexec ${clusterProgram("kubelet")} "$@"\n`;
  buildProgram();
  return `#!/bin/sh\nexec ${process.execPath} ${join(root, "dist/berth.js")} kubelet "$@"\n`;
}

/** As in upstream's runs, but for what the machine has of its own: version of cgroups, swap, and others' use of it. */
function baseConfig(cgroupRoot: string): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    cgroupDriver: "cgroupfs",
    cgroupRoot,
    failCgroupV1: false,
    failSwapOn: false,
    podCIDR: "10.100.0.0/24",
    volumeStatsAggPeriod: "10s",
    fileCheckFrequency: "10s",
    serializeImagePulls: false,
    evictionHard: { "memory.available": "0%" },
    imageGCHighThresholdPercent: 100,
    makeIPTablesUtilChains: false,
  };
}
