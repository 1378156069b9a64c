// `npm run golden -- [--scenario NAME]... [--parallel N] [--verbose]`: Berth's calls and requests against a recorded kubelet's.

import { parseArgs } from "node:util";
import type { Log } from "../../src/ports/log.ts";
import { silentLog } from "../kit/silent-log.ts";
import { type GoldenReport, runGolden } from "./run-golden.ts";
import { scenariosAlone, scenariosTogether } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    scenario: { type: "string", multiple: true },
    parallel: { type: "string", default: "9" },
    verbose: { type: "boolean", default: false },
  },
});

const say =
  (level: string): Log["info"] =>
  (message, fields = {}) =>
    console.error(new Date().toISOString(), level, message, JSON.stringify(fields));
const log: Log = {
  ...silentLog,
  ...(values.verbose ? { info: say("info"), warn: say("warn") } : {}),
  error: say("error"),
};

const report = await runGolden(values.scenario ?? [...scenariosTogether, ...scenariosAlone], {
  parallel: Number(values.parallel),
  log,
});
print(report);
const isGood = report.scenarios.every(
  ({ problem, unexplained }) => problem === undefined && unexplained.length === 0,
);
if (!isGood || report.stale.length > 0) process.exitCode = 1;

function print({ scenarios, stale }: GoldenReport): void {
  for (const { scenario, calls, requests, problem, unexplained, explained } of scenarios) {
    const counts = `${calls} calls, ${requests} requests, ${explained.length} explained differences`;
    console.log(`${scenario}: ${counts}, ${unexplained.length} others`);
    if (problem !== undefined) console.log(`  could not be run: ${problem}`);
    for (const { pod, path, recorded, berth } of unexplained) {
      console.log(`  ${pod}: ${path}\n    recorded ${recorded}\n    berth    ${berth}`);
    }
  }
  for (const { scenario, pod, path } of stale) {
    console.log(`explained, but not seen any more: ${scenario} ${pod} ${path}`);
  }
}
