// npm run sim; see sim-options.ts
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type ManySeeds, type OneSeed, parseSimOptions, simUsage } from "./sim-options.ts";
import { runSeed, type SeedReport } from "./simulator/run-seed.ts";

interface Share {
  readonly from: number;
  readonly count: number;
}

type Outcome = Pick<SeedReport, "seed" | "simulatedMs" | "violation">;

const progressMs = 5_000;
/** So many seeds one worker runs. */
const shareSize = 100;
const lastLines = 25;

// Nobody reads the stacks of the many aborts.
Error.stackTraceLimit = 0;
if (isMainThread) await main();
else await runShare(workerData as Share);

async function main(): Promise<void> {
  const options = parseSimOptions(process.argv.slice(2), availableParallelism());
  if (!options.ok) {
    console.error(`${options.error}\n${simUsage}`);
    process.exitCode = 2;
  } else if (options.value.kind === "help") {
    console.log(simUsage);
  } else if (options.value.kind === "one") {
    await runOne(options.value);
  } else {
    const failed = await runAll(options.value);
    for (const seed of failed.slice(0, 3)) await explain(seed);
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}

async function runOne({ seed, steps, trace }: OneSeed): Promise<void> {
  const report = await runSeed(seed, { steps });
  console.log((trace ? report.trace : shortTrace(report)).join("\n"));
  console.log(`seed ${report.seed}: ${report.violation ?? "all promises held"}`);
  process.exitCode = report.violation === undefined ? 0 : 1;
}

async function runAll({ from, seeds, workers }: ManySeeds): Promise<readonly number[]> {
  const startedMs = Date.now();
  const failed: number[] = [];
  let simulatedMs = 0;
  let done = 0;
  let toldMs = startedMs;
  const take = ({ seed, simulatedMs: ms, violation }: Outcome): void => {
    done += 1;
    simulatedMs += ms;
    if (violation !== undefined) {
      failed.push(seed);
      console.log(`seed ${seed}: ${violation}`);
    }
    if (Date.now() - toldMs < progressMs) return;
    toldMs = Date.now();
    console.log(`${done} of ${seeds} seeds, ${failed.length} failed`);
  };
  let next = 0;
  const runShares = async (): Promise<void> => {
    while (next < seeds) {
      const share = { from: from + next, count: Math.min(shareSize, seeds - next) };
      next += share.count;
      await runWorker(share, take);
    }
  };
  await Promise.all(Array.from({ length: workers }, runShares));
  const seconds = (Date.now() - startedMs) / 1000;
  const hours = simulatedMs / 3_600_000;
  console.log(
    `${seeds} seeds, ${failed.length} failed, ${seconds.toFixed(1)} s, ${hours.toFixed(1)} simulated hours, ` +
      `${(hours / seconds).toFixed(2)} simulated hours per second`,
  );
  return failed;
}

function runWorker(share: Share, take: (outcome: Outcome) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: share,
      // A seed's garbage is short-lived, and there is a lot of it.
      resourceLimits: { maxYoungGenerationSizeMb: 96 },
    });
    worker.on("message", take);
    worker.on("error", reject);
    worker.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
    );
  });
}

async function runShare({ from, count }: Share): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { seed, simulatedMs, violation } = await runSeed(from + index);
    parentPort?.postMessage({ seed, simulatedMs, violation } satisfies Outcome);
  }
}

/** The shortest beginning of the same chaos that breaks the promise too. */
async function explain(seed: number): Promise<void> {
  let report = await runSeed(seed);
  for (let steps = 1; steps < report.steps; steps += 1) {
    const shorter = await runSeed(seed, { steps });
    if (shorter.violation === undefined) continue;
    report = shorter;
    break;
  }
  console.log(`\n${shortTrace(report).join("\n")}`);
  console.log(`seed ${seed}: ${report.violation}`);
  console.log(`npm run sim -- --seed ${seed} --steps ${report.steps} --trace`);
}

/** What was done to the node, and what happened last. */
function shortTrace({ trace, deeds }: SeedReport): readonly string[] {
  const wanted = new Set(deeds);
  return trace.filter((_, index) => wanted.has(index) || index >= trace.length - lastLines);
}
