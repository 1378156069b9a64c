import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { ServerProcess } from "../cluster/support/server-process.ts";
import { type Suite, unavailable } from "./suites.ts";

export interface SpecResult {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** Why it failed or was skipped. */
  readonly message: string;
  /** The end of what a failed one said. */
  readonly output?: string;
}

export interface SpecRun {
  readonly suite: Suite;
  readonly focus: string;
  readonly processes: number;
  /** Takes the program's own files. */
  readonly folder: string;
  readonly flags: readonly string[];
  readonly environment?: readonly string[];
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts?: readonly string[];
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
  readonly CapturedGinkgoWriterOutput?: string;
}

const nanosecondsPerSecond = 1e9;
const outputBytes = 20_000;
const reportName = "specs.json";

/** Runs the specs, several at once but for those that must run alone. */
export async function runSpecs(run: SpecRun): Promise<readonly SpecResult[]> {
  const { folder, suite } = run;
  // ginkgo runs a program in the program's own folder.
  const program = join(folder, suite.program);
  symlinkSync(clusterProgram(suite.program), program);
  const ginkgo = new ServerProcess(
    [
      "env",
      ...(run.environment ?? []),
      clusterProgram("ginkgo"),
      `--procs=${run.processes}`,
      "--no-color",
      "--timeout=6h",
      `--output-dir=${folder}`,
      `--json-report=${reportName}`,
      `--focus=${run.focus}`,
      `--label-filter=${suite.labels}`,
      `--skip=${unavailable}`,
      program,
      "--",
      ...run.flags,
    ],
    join(folder, "specs.log"),
  );
  await ginkgo.ended;
  try {
    return readReport(join(folder, reportName));
  } catch (error) {
    throw new Error(`${suite.program} could not be run: ${ginkgo.lastWords()}`, { cause: error });
  }
}

function readReport(file: string): readonly SpecResult[] {
  const reports = JSON.parse(readFileSync(file, "utf8")) as readonly {
    readonly SpecReports: readonly GinkgoSpec[];
  }[];
  const specs = reports.flatMap(({ SpecReports }) => SpecReports);
  const broken = specs.find(
    ({ LeafNodeType, State }) => LeafNodeType.endsWith("BeforeSuite") && State === "failed",
  );
  if (broken !== undefined) throw new Error(`the suite did not start: ${broken.Failure?.Message}`);
  return specs.flatMap(resultOf);
}

/** Nothing for a spec that was not asked for, or that a signal ended: what was run until then counts. */
function resultOf(spec: GinkgoSpec): readonly SpecResult[] {
  const message = spec.Failure?.Message ?? "";
  const isSkipped = spec.State === "skipped" || spec.State === "pending";
  if (spec.LeafNodeType !== "It" || (isSkipped && message === "")) return [];
  if (spec.State === "interrupted" || spec.State === "aborted") return [];
  const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(" ");
  const state = isSkipped ? "skipped" : spec.State === "passed" ? "passed" : "failed";
  const output = spec.CapturedGinkgoWriterOutput?.slice(-outputBytes) ?? "";
  const seconds = Math.round(spec.RunTime / nanosecondsPerSecond);
  return [{ name, state, seconds, message, ...(state === "failed" && { output }) }];
}
