// Measures Berth beside the bare calls and other kubelets: npm run bench -- --help
import { writeFileSync } from "node:fs";
import { buildProgram } from "../integration/support/agent-process.ts";
import type { BenchWorld } from "./bench-world.ts";
import { openWorld, sweep } from "./bench-world.ts";
import type { BenchCase, CaseContext } from "./case-context.ts";
import { burstCase } from "./cases/bursts.ts";
import { commandCase } from "./cases/commands.ts";
import { crashCase } from "./cases/crash.ts";
import { deviceCase } from "./cases/devices.ts";
import { idleCase } from "./cases/idle.ts";
import { probeCase } from "./cases/probes.ts";
import { removalCase } from "./cases/removals.ts";
import { restartCase } from "./cases/restart.ts";
import { apiCase, manifestCase } from "./cases/single-pods.ts";
import { volumeCase } from "./cases/volumes.ts";
import { reportChart } from "./chart.ts";
import { type BenchOptions, type CaseLetter, parseOptions, UsageError, usage } from "./options.ts";
import { createReport, reportTable } from "./report.ts";
import { Results } from "./results.ts";

const cases: Readonly<Record<CaseLetter, BenchCase>> = {
  a: manifestCase,
  b: apiCase,
  c: crashCase,
  d: burstCase,
  e: idleCase,
  f: restartCase,
  g: probeCase,
  h: commandCase,
  i: removalCase,
  j: volumeCase,
  k: deviceCase,
};

/** As shells have it for SIGINT. */
const interruptedCode = 130;

if (process.argv.includes("--help")) console.log(usage);
else await main();

async function main(): Promise<void> {
  try {
    await run(parseOptions(process.argv.slice(2)));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
  }
}

async function run(options: BenchOptions): Promise<void> {
  buildProgram();
  const results = new Results();
  const world = await openWorld(options);
  closeOnSignal(world);
  try {
    for (const letter of options.cases) {
      const benchCase = cases[letter];
      if (benchCase.needsCluster && world.cluster === undefined) continue;
      await takeTurns({ world, sizes: options.sizes, results }, benchCase, letter, options);
    }
    await publish(world, options, results);
  } finally {
    await world.close();
  }
}

/** Nothing stays on the machine after a signal; agents end with this process. */
function closeOnSignal(world: BenchWorld): void {
  const close = (): void => {
    note("ending");
    void world.close().finally(() => process.exit(interruptedCode));
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, close);
}

/** The bare client and all contenders, one after the other, over and over: what slows the machine slows them all. */
async function takeTurns(
  context: CaseContext,
  benchCase: BenchCase,
  letter: string,
  { contenders, sizes }: BenchOptions,
): Promise<void> {
  const rounds = benchCase.rounds(sizes);
  for (let round = 1; round <= rounds; round += 1) {
    note(`case ${letter}, turn ${round} of ${rounds}: floor`);
    await benchCase.measureFloor(context);
    await sweep(context.world);
    for (const contender of contenders) {
      note(`case ${letter}, turn ${round} of ${rounds}: ${contender.name}`);
      await benchCase.measure(context, contender);
      await sweep(context.world);
    }
  }
}

async function publish(world: BenchWorld, options: BenchOptions, results: Results): Promise<void> {
  const report = await createReport(world, options, results.summary());
  console.log(reportTable(report));
  if (options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`);
  }
  if (options.svg !== undefined) writeFileSync(options.svg, reportChart(report));
}

function note(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
