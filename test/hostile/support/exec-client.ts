// Runs exec probes against the runtime at the given socket, all at once, and prints what was kept and the most memory it took.

import { createCriRuntime } from "../../../src/drivers/cri/cri-runtime.ts";
import { runExecProbe } from "../../../src/drivers/linux/exec-probe.ts";
import { containerId } from "../../../src/model/ids.ts";

export interface ExecClientReport {
  readonly results: readonly string[];
  readonly longestOutput: number;
  readonly maxRssMiB: number;
}

const [, , socket = "", count = "1"] = process.argv;
const runtime = createCriRuntime(`unix://${socket}`);
const target = { containerId: containerId("containerd://c"), command: ["cat", "/dev/zero"] };
const outcomes = await Promise.all(
  Array.from({ length: Number(count) }, () =>
    runExecProbe(
      (id, command, timeoutSeconds, signal) =>
        runtime.execSync(id, command, timeoutSeconds, signal),
      target,
      100,
      AbortSignal.timeout(200_000),
    ),
  ),
);
const report: ExecClientReport = {
  results: [...new Set(outcomes.map(({ result }) => result))],
  longestOutput: Math.max(...outcomes.map(({ output }) => output.length)),
  maxRssMiB: Math.round(process.resourceUsage().maxRSS / 1024),
};
console.info(JSON.stringify(report));
process.exit(0);
