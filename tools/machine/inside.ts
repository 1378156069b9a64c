// What is done on the virtual machine once it has booted.
import type { MachineRun } from "./runs.ts";
import type { VirtualMachine } from "./virtual-machine.ts";

/** What the tests' own waits are multiplied by: emulation takes many times as long. */
const patience = "3";
const systemFolders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const reportFile = "/var/tmp/report.json";

export interface FileResult {
  readonly run: string;
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** Starts the guest's containerd with the programs of the run; resolves with what they are. */
export async function startRuntime(
  machine: VirtualMachine,
  run: MachineRun,
  signal: AbortSignal,
): Promise<string> {
  const path = pathOf(run);
  const where = (
    await machine.mustRun(["env", `PATH=${path}`, "which", "containerd"], signal)
  ).trim();
  const unit = `[Service]\nEnvironment=PATH=${path}\nExecStart=\nExecStart=${where}\n`;
  const folder = "/run/systemd/system/containerd.service.d";
  await machine.mustRun(["mkdir", "-p", folder], signal);
  await machine.mustRun(["tee", `${folder}/tests.conf`], signal, unit);
  if (run.hardware.hasSwap)
    await machine.mustRun(["sh", "-c", "mkswap /dev/vdc && swapon /dev/vdc"], signal);
  await machine.mustRun(["systemctl", "daemon-reload"], signal);
  await machine.mustRun(["systemctl", "start", "containerd.service"], signal);
  const asked = [
    ["uname", "-r"],
    [where, "--version"],
    ["runc", "--version"],
  ];
  const answers: string[] = [];
  for (const words of asked) {
    const text = await machine.mustRun(["env", `PATH=${path}`, ...words], signal);
    answers.push(text.split("\n")[0] ?? "");
  }
  return answers.join(", ");
}

/** The demo's pods, until all are well. */
export async function runDemo(
  machine: VirtualMachine,
  run: MachineRun,
  signal: AbortSignal,
): Promise<FileResult> {
  const demo = ["tools/run.mjs", "tools/demo/main.ts", "--until-ready", "--timeout", "600s"];
  const startedMs = Date.now();
  const { code } = await machine.run(inWork(run, ["node", ...demo]), signal, { onOutput: print });
  return { run: run.name, name: "demo", ...ended(code === 0, startedMs) };
}

/** Test files, one after the other. */
export async function runTests(
  machine: VirtualMachine,
  run: MachineRun,
  signal: AbortSignal,
): Promise<readonly FileResult[]> {
  const startedMs = Date.now();
  const command = [
    ["node", "node_modules/vitest/vitest.mjs", "run", "--no-file-parallelism", "--no-isolate"],
    ["--project", "machine", "--project", "integration"],
    ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`, ...run.files],
  ].flat();
  const { code } = await machine.run(inWork(run, command), signal, { onOutput: print });
  const report = await machine.run(["cat", reportFile], signal);
  if (report.code !== 0) {
    return [{ run: run.name, name: "tests", ...ended(false, startedMs) }];
  }
  const files = fileResults(run.name, report.stdout);
  const failedOutside = code !== 0 && files.every(({ failed }) => failed === 0);
  return failedOutside
    ? [...files, { run: run.name, name: `vitest ended with ${code}`, ...ended(false, startedMs) }]
    : files;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

function fileResults(run: string, text: string): readonly FileResult[] {
  const { testResults } = JSON.parse(text) as Report;
  return testResults.map(({ name, status, startTime, endTime, assertionResults }) => {
    const count = (wanted: string) =>
      assertionResults.filter((result) => result.status === wanted).length;
    const failed = count("failed");
    return {
      run,
      name: name.replace("/work/", ""),
      passed: count("passed"),
      // A file that cannot even be loaded fails without a failed test.
      failed: status === "failed" && failed === 0 ? 1 : failed,
      seconds: (endTime - startTime) / 1000,
    };
  });
}

function ended(isWell: boolean, startedMs: number): Omit<FileResult, "run" | "name"> {
  const seconds = (Date.now() - startedMs) / 1000;
  return { passed: isWell ? 1 : 0, failed: isWell ? 0 : 1, seconds };
}

function inWork(run: MachineRun, command: readonly string[]): readonly string[] {
  const environment = [`PATH=${pathOf(run)}`, `BERTH_TEST_PATIENCE=${patience}`, "CI=true"];
  return ["env", "--chdir=/work", ...environment, ...command];
}

function pathOf({ programFolders }: MachineRun): string {
  return [...programFolders, systemFolders].join(":");
}

function print(text: string): void {
  process.stdout.write(text);
}
