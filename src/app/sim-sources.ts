import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { createFileSource } from "../drivers/manifest/file-source.ts";
import { type PodScript, parsePodScript } from "../drivers/sim/pod-script.ts";
import { SetupError } from "../lib/setup-error.ts";
import { type Pod, podKey } from "../model/pod.ts";
import type { PodSource, SourceProblem, SourceSnapshot } from "../ports/pod-source.ts";
import { readProblem } from "./read-problem.ts";

/**
 * One source of all these files and folders, for pods that follow scripts. A pod with a script that cannot be read is
 * refused; `onScript` is called for every other one before it is delivered.
 */
export async function simSource(
  paths: readonly string[],
  nodeName: string,
  onScript: (pod: Pod, script: PodScript) => void,
): Promise<PodSource> {
  for (const path of paths) {
    await stat(path).catch((error: unknown) => {
      throw new SetupError(readProblem(path, error), "give manifests with -f PATH", {
        cause: error,
      });
    });
  }
  const sources = [...new Set(paths.map((path) => resolve(path)))].map((path) =>
    createFileSource({ path, nodeName, mode: "up" }),
  );
  return {
    name: "file",
    run: async (sink, signal) => {
      const snapshots = new Map<PodSource, SourceSnapshot>();
      await Promise.all(
        sources.map((source) =>
          source.run(
            {
              report: sink.report,
              deliver: (snapshot) => {
                snapshots.set(source, snapshot);
                if (snapshots.size < sources.length) return;
                const inOrder = sources.flatMap((one) => snapshots.get(one) ?? []);
                sink.deliver(playable(merged(inOrder), onScript));
              },
            },
            signal,
          ),
        ),
      );
    },
  };
}

/** Of two pods of one name the first stays, as within a folder. */
function merged(snapshots: readonly SourceSnapshot[]): SourceSnapshot {
  const pods = new Map<string, Pod>();
  const doubled: SourceProblem[] = [];
  for (const pod of snapshots.flatMap((one) => one.pods)) {
    const key = podKey(pod);
    if (!pods.has(key)) pods.set(key, pod);
    else doubled.push({ origin: key, field: "metadata.name", message: doubledMessage });
  }
  return {
    pods: [...pods.values()],
    configMaps: snapshots.flatMap((one) => one.configMaps),
    secrets: snapshots.flatMap((one) => one.secrets),
    runtimeClasses: snapshots.flatMap((one) => one.runtimeClasses ?? []),
    problems: [...snapshots.flatMap((one) => one.problems), ...doubled],
    unknownFields: snapshots.flatMap((one) => one.unknownFields ?? []),
    ignored: snapshots.flatMap((one) => one.ignored),
  };
}

const doubledMessage = "two of the given files define this pod: remove or rename one of them";

function playable(
  snapshot: SourceSnapshot,
  onScript: (pod: Pod, script: PodScript) => void,
): SourceSnapshot {
  const problems: SourceProblem[] = [];
  const pods = snapshot.pods.filter((pod) => {
    const script = parsePodScript(pod);
    if (script.ok) onScript(pod, script.value);
    else problems.push(...script.error.map((problem) => scriptProblem(pod, problem)));
    return script.ok;
  });
  return { ...snapshot, pods, problems: [...snapshot.problems, ...problems] };
}

function scriptProblem(
  pod: Pod,
  { annotation, message }: { readonly annotation: string; readonly message: string },
): SourceProblem {
  return {
    origin: `pod ${podKey(pod)}`,
    field: `metadata.annotations[${annotation}]`,
    message: `the pod is refused: ${message}`,
  };
}
