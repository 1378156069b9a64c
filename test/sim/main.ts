// npm run sim -- --seeds 1000 [--from N], or --seed N --trace
import { parseArgs } from "node:util";
import { runSeed } from "./simulator/run-seed.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const startedMs = Date.now();
let simulatedMs = 0;
let failed = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const report = await runSeed(seed);
  simulatedMs += report.simulatedMs;
  if (report.violation === undefined && !values.trace) continue;
  const lines = values.trace ? report.trace : report.trace.slice(-15);
  console.log(lines.join("\n"));
  if (report.violation === undefined) continue;
  failed += 1;
  console.log(`seed ${seed}: ${report.violation}`);
}
const seconds = (Date.now() - startedMs) / 1000;
const hoursPerSecond = simulatedMs / 3_600_000 / seconds;
console.log(
  `${count} seeds, ${failed} failed, ${seconds.toFixed(1)} s, ${hoursPerSecond.toFixed(2)} simulated hours per second`,
);
if (failed > 0) process.exitCode = 1;
