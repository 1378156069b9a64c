// The node of `berth run`: only for these manifests, and removed with the command, however that ends.
import { err, ok, type Result } from "../lib/result.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import type { Pod } from "../model/pod.ts";
import type { SourceProblem } from "../ports/pod-source.ts";
import { dataLayout } from "./data-layout.ts";
import { podOfFile, splitManifest } from "./manifest-objects.ts";
import type { NodeOrder, RealNodeOrder } from "./node-order.ts";
import { NodeProcess } from "./node-process.ts";
import { nodeProgram } from "./program-parts.ts";
import { makeTemporaryDataDir } from "./temporary-data-dir.ts";

export interface RunNodeOptions
  extends Pick<RealNodeOrder, "runtimeEndpoint" | "bridge" | "subnet" | "cgroupRoot"> {
  readonly nodeName: string;
  readonly logLevel: NodeOrder["logLevel"];
}

/** What is to be run: the objects of all manifests, and the pods among them in their order. */
export interface RunPlan {
  readonly files: readonly ManifestText[];
  readonly pods: readonly Pod[];
}

/** The files are named as in the folder of a node; a problem names the manifest that was given. */
export function planRun(
  manifests: readonly ManifestText[],
  nodeName: string,
): Result<RunPlan, readonly SourceProblem[]> {
  const problems: SourceProblem[] = [];
  const files = new Map<string, ManifestText>();
  for (const manifest of manifests) {
    const objects = splitManifest(manifest, nodeName);
    if (!objects.ok) {
      problems.push(...objects.error);
      continue;
    }
    for (const { fileName, text } of objects.value) {
      if (files.has(fileName)) {
        const message = "another document defines this object too: remove or rename one of them";
        problems.push({ origin: manifest.path, field: "metadata.name", message });
      }
      files.set(fileName, { path: fileName, text });
    }
  }
  if (problems.length > 0) return err(problems);
  const pods = [...files.values()].flatMap((file) => podOfFile(file, nodeName) ?? []);
  return ok({ files: [...files.values()], pods });
}

export class RunNode {
  readonly #process: NodeProcess;
  readonly socketPath: string;

  private constructor(process: NodeProcess, dataDir: string) {
    this.#process = process;
    this.socketPath = dataLayout(dataDir).socket;
  }

  /** Starts a node that wants these objects; it works on them before `untilReady` resolves. */
  static async start(plan: RunPlan, options: RunNodeOptions): Promise<RunNode> {
    const { logLevel, ...place } = options;
    const dataDir = await makeTemporaryDataDir("berth-run-", plan.files);
    const { manifests } = dataLayout(dataDir);
    const node = { kind: "real", dataDir, manifests, ...place } as const;
    const order = { node, isTemporary: true, logLevel };
    return new RunNode(new NodeProcess({ program: nodeProgram, order }), dataDir);
  }

  followLog(onLine: (line: string) => void): void {
    this.#process.followLog(onLine);
  }

  /** Rejects when the node cannot be started. */
  async untilReady(): Promise<void> {
    await this.#process.untilReady();
  }

  /** Ends the pods, each within its grace period, and removes the node. */
  async stop(): Promise<void> {
    await this.#process.stop(true);
  }
}
