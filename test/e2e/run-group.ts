import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import type { ClusterWorld } from "../cluster/support/cluster-world.ts";
import { ServerProcess } from "../cluster/support/server-process.ts";
import { type SpecGroup, skippedSpecs } from "./spec-groups.ts";

export interface SpecResult {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** Why it failed or was skipped. */
  readonly message: string;
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts?: readonly string[];
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

const nanosecondsPerSecond = 1e9;

/** Runs a group in the cluster. Specs that do not apply to a volume of that kind skip themselves. */
export async function runGroup(
  { plane, node }: ClusterWorld,
  { name, focus }: SpecGroup,
  index: number,
): Promise<readonly SpecResult[]> {
  const report = join(plane.folder, `specs-${index}.json`);
  const flags = [
    `--kubeconfig=${plane.kubeconfig}`,
    "--provider=skeleton",
    `--kubectl-path=${clusterProgram("kubectl")}`,
    `--kubelet-root-dir=${node.rootDir}`,
    "--minStartupPods=0",
    "--dump-logs-on-failure=false",
    `--ginkgo.focus=${focus}`,
    `--ginkgo.skip=${skippedSpecs}`,
    `--ginkgo.json-report=${report}`,
    "--ginkgo.no-color",
    "--ginkgo.timeout=3h",
  ];
  const log = join(plane.folder, `specs-${index}.log`);
  const run = new ServerProcess([clusterProgram("e2e.test"), ...flags], log);
  await run.ended;
  try {
    const [suite] = JSON.parse(readFileSync(report, "utf8")) as {
      readonly SpecReports: readonly GinkgoSpec[];
    }[];
    return (suite?.SpecReports ?? []).flatMap(resultOf);
  } catch (error) {
    throw new Error(`${name} could not be run: ${run.lastWords()}`, { cause: error });
  } finally {
    rmSync(report, { force: true });
  }
}

/** Nothing for a spec of another group. */
function resultOf(spec: GinkgoSpec): readonly SpecResult[] {
  const message = spec.Failure?.Message ?? "";
  const isSkipped = spec.State === "skipped" || spec.State === "pending";
  if (spec.LeafNodeType !== "It" || (isSkipped && message === "")) return [];
  const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(" ");
  const state = isSkipped ? "skipped" : spec.State === "passed" ? "passed" : "failed";
  return [{ name, state, seconds: spec.RunTime / nanosecondsPerSecond, message }];
}
