// `npm run machine`: boots a virtual machine as today's machines are (systemd, cgroup v2, a recent kernel and runtime) and
// runs tests on it.
// npm run machine -- [--all | --run NAME] [--stay] [TEST FILE...]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { guestImage } from "./guest-image.ts";
import { type FileResult, runDemo, runTests, startRuntime } from "./inside.ts";
import { type MachineRun, runs } from "./runs.ts";
import { VirtualMachine } from "./virtual-machine.ts";
import { makeWorkDisk } from "./work-disk.ts";

declare const BERTH_REPOSITORY: string;

const { values, positionals } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    run: { type: "string" },
    stay: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stop.abort());

const chosen = chooseRuns();
const folder = mkdtempSync(join(tmpdir(), "berth-machine-"));
const results: FileResult[] = [];
try {
  const image = guestImage(say);
  const workDisk = join(folder, "work");
  makeWorkDisk(BERTH_REPOSITORY, workDisk);
  for (const run of chosen) results.push(...(await runOn(run, workDisk, image)));
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const { run, name, passed, failed, seconds } of results) {
  const ended = `${passed} passed${failed === 0 ? "" : `, ${failed} FAILED`}`;
  console.log(`${run.padEnd(15)} ${name.padEnd(45)} ${seconds.toFixed(0).padStart(5)} s  ${ended}`);
}
const isWell = results.length > 0 && results.every(({ failed }) => failed === 0);
process.exitCode = isWell || values.stay ? 0 : 1;

function chooseRuns(): readonly MachineRun[] {
  const [first] = runs;
  if (first === undefined) throw new Error("there are no runs");
  const named = runs.filter(({ name }) => name === values.run);
  if (values.run !== undefined && named.length === 0) {
    console.error(
      `machine: no run ${values.run}: there are ${runs.map(({ name }) => name).join(", ")}`,
    );
    process.exit(2);
  }
  const selected = values.all ? runs : named.length > 0 ? named : [first];
  if (positionals.length === 0) return selected;
  return selected.map((run) => ({ ...run, runsDemo: false, files: positionals }));
}

async function runOn(
  run: MachineRun,
  workDisk: string,
  image: ReturnType<typeof guestImage>,
): Promise<readonly FileResult[]> {
  const { signal } = stop;
  say(`booting ${run.name}`);
  const machine = await VirtualMachine.boot(image, run.hardware, workDisk, signal);
  try {
    say(await startRuntime(machine, run, signal));
    if (values.stay) {
      say(`up, until Ctrl-C: ${machine.sshCommand.join(" ")}`);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return [];
    }
    const demo = run.runsDemo ? [await runDemo(machine, run, signal)] : [];
    return [...demo, ...(await runTests(machine, run, signal))];
  } finally {
    await machine.close();
  }
}

function say(text: string): void {
  console.log(`machine: ${text}`);
}
