// npm run sim; see sim-options.ts
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type ManySeeds, type OneSeed, parseSimOptions, simUsage } from "./sim-options.ts";
import { runSeed, type SeedReport, storageEvery } from "./simulator/run-seed.ts";

interface Queue {
  readonly from: number;
  readonly seeds: number;
  /** From one seed to the next. */
  readonly stride: number;
  /** How many seeds were taken by any worker. */
  readonly taken: Int32Array;
}

type Outcome = Pick<SeedReport, "seed" | "simulatedMs" | "violation">;

const progressMs = 5_000;
const lastLines = 25;

// The stacks of the many aborts are never read.
Error.stackTraceLimit = 0;
if (isMainThread) await main();
else await runQueue(workerData as Queue);

async function main(): Promise<void> {
  // Most code runs too seldom to be worth optimizing: what an older V8 spends on it by default is a quarter of the run.
  if (Number.parseInt(process.versions.node, 10) < 24) {
    setFlagsFromString("--interrupt-budget=1000000");
    setFlagsFromString("--always-sparkplug");
  }
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

async function runAll({
  from: first,
  seeds,
  workers,
  storage,
}: ManySeeds): Promise<readonly number[]> {
  const startedMs = Date.now();
  const failed: number[] = [];
  let simulatedMs = 0;
  let done = 0;
  let printedMs = startedMs;
  const take = ({ seed, simulatedMs: ms, violation }: Outcome): void => {
    done += 1;
    simulatedMs += ms;
    if (violation !== undefined) {
      failed.push(seed);
      console.log(`seed ${seed}: ${violation}`);
    }
    if (Date.now() - printedMs < progressMs) return;
    printedMs = Date.now();
    console.log(`${done} of ${seeds} seeds, ${failed.length} failed`);
  };
  const taken = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const stride = storage ? storageEvery : 1;
  const from = Math.ceil(first / stride) * stride;
  const queue = { from, seeds, stride, taken };
  const count = Math.min(workers, seeds);
  await Promise.all(Array.from({ length: count }, () => runWorker(queue, take)));
  const seconds = (Date.now() - startedMs) / 1000;
  const hours = simulatedMs / 3_600_000;
  console.log(
    `${seeds} seeds, ${failed.length} failed, ${seconds.toFixed(1)} s, ` +
      `${(seeds / seconds).toFixed(1)} seeds per second, ${hours.toFixed(1)} simulated hours`,
  );
  return failed;
}

function runWorker(queue: Queue, take: (outcome: Outcome) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: queue,
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

/** Takes the next seed until none is left, so that no worker is idle before the others. */
async function runQueue({ from, seeds, stride, taken }: Queue): Promise<void> {
  for (;;) {
    const index = Atomics.add(taken, 0, 1);
    if (index >= seeds) return;
    const { seed, simulatedMs, violation } = await runSeed(from + index * stride);
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
