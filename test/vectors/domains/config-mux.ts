import type { SourceUpdate } from "../../../src/core/source/merge-source.ts";
import { PodConfig } from "../../../src/engine/intake/source-intake.ts";
import { SourceReadiness } from "../../../src/engine/intake/source-readiness.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { configSeenAnnotation, type PodSourceName } from "../../../src/model/pod-source.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly steps: readonly {
    readonly source: PodSourceName;
    readonly pods: readonly Pod[] | null;
  }[];
}

const sources = ["api", "file", "http"] as const;

export const configMux: VectorDomain = vectorDomain<Input>("config-mux", ({ steps }) => {
  let updates: object[] = [];
  const readiness = sources.map((name) => [name, new SourceReadiness([name])] as const);
  const config = new PodConfig({
    clock: {
      nowMs: () => 0,
      monotonicMs: () => 0,
      startTimer: () => ({ stop: () => undefined }),
      sleep: () => Promise.resolve(),
    },
    events: { record: () => undefined },
    sink: {
      deliver: (update) => {
        updates.push(encodeUpdate(update));
        for (const [, ready] of readiness) ready.noteHandled(update.source);
      },
    },
  });
  return {
    steps: steps.map(({ source, pods }) => {
      updates = [];
      config.set({ source, pods: pods ?? [] });
      const seenSources = Object.fromEntries(
        readiness.map(([name, { areAllReady }]) => [name, areAllReady]),
      );
      return { updates, seenSources };
    }),
  };
});

function encodeUpdate({ op, source, pods }: SourceUpdate): object {
  const sorted = op === "REMOVE" ? pods.toSorted(byUid) : pods;
  return { op, source, pods: sorted.map(encodePod) };
}

function byUid(a: Pod, b: Pod): number {
  return a.metadata.uid < b.metadata.uid ? -1 : 1;
}

function encodePod({ metadata, spec, status }: Pod): object {
  const { annotations, labels, generation, resourceVersion, name, uid } = metadata;
  return {
    name,
    uid,
    annotations: { ...annotations, [configSeenAnnotation]: "<time>" },
    labels,
    generation: generation ?? 0,
    resourceVersion: resourceVersion ?? "",
    deletionTimestamp: metadata.deletionTimestamp,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds,
    image: spec.containers[0]?.image,
    phase: status?.phase ?? "",
  };
}
