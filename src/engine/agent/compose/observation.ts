import { podContainersDirectory } from "../../../core/paths/data-paths.ts";
import type { ObservedPod } from "../../../model/observed.ts";
import { Observer } from "../../observe/observer.ts";
import { type ReadHint, readPod } from "../../observe/read-pod.ts";
import type { ReadEnd } from "../../observe/termination-message.ts";
import { PodNames } from "../../pods/pod-names.ts";
import { Prober } from "../../probes/prober.ts";
import type { AgentParts } from "../agent-parts.ts";

export function composeObserver(parts: AgentParts): Observer {
  const { runtime, runtimeEvents, clock, log } = parts.ports;
  return new Observer(
    {
      runtime,
      eventSources: runtimeEvents,
      readPod: async (uid, signal, hint) => {
        const startedMs = clock.monotonicMs();
        try {
          return await readAgentPod(parts, uid, signal, hint);
        } finally {
          parts.metrics.notePodRead(clock.monotonicMs() - startedMs);
        }
      },
      cache: parts.cache,
      workOn: (uid) => parts.workers.workOn(uid) ?? parts.remains.whenRemoved(uid),
      clock,
      log,
      faults: parts.faults,
      onChange: ({ uid }) => {
        parts.loop.requestSync(uid);
        parts.names.look();
      },
      onHealth: (problem) => parts.health.note(problem),
      onRelist: (ms, sinceLastMs) => parts.metrics.noteRelist(ms, sinceLastMs),
    },
    parts.signal,
  );
}

export function composeNames(parts: AgentParts): PodNames {
  return new PodNames({
    isListed: () => parts.runtimeListed,
    runtimePods: () => parts.observer.pods,
    unreadPods: () => parts.observer.unreadPods(),
    hasBegunOther: (fullName, uid) => parts.workers.hasBegunOther(fullName, uid),
    onWait: () => parts.loop.requestHousekeeping(),
  });
}

export function composeProber(parts: AgentParts): Prober {
  const { clock, random, probeRunner } = parts.ports;
  return new Prober({
    clock,
    random,
    runner: probeRunner,
    events: parts.memory.events,
    faults: parts.faults,
    podStatus: (uid) => parts.statuses.get(uid),
    onProbed: (subject, result, ms) => parts.metrics.noteProbe(subject, result, ms),
    onUpdate: (kind, { podUid, containerId, result }) => {
      if (kind === "readiness") {
        parts.statuses.setReady(podUid, containerId, result === "Success");
      } else if (kind === "startup") {
        parts.statuses.setStarted(podUid, containerId, result === "Success");
      }
      parts.loop.requestSync(podUid);
    },
  });
}

/** One pod as the runtime has it now. */
function readAgentPod(
  parts: AgentParts,
  uid: string,
  signal: AbortSignal,
  hint: ReadHint,
): Promise<ObservedPod> {
  const { runtime, clock } = parts.ports;
  const { runtimeName, runtimeSettings } = parts.settings;
  const hasStopSignals = runtimeSettings.containerStopSignals;
  const givenResources = (podUid: string, name: string) =>
    parts.allocations.actuated.get(podUid)?.containers.get(name);
  const exitOf = (id: string) => parts.observer.exitOf(id);
  const readEnd = readEndOf(parts, uid, signal);
  const deps = { runtime, readEnd, clock, runtimeName, hasStopSignals, givenResources, exitOf };
  return readPod(deps, uid, signal, hint);
}

/** A pod can have its termination message in a file of any volume; such a one is foreign. */
function readEndOf(parts: AgentParts, uid: string, signal: AbortSignal): ReadEnd {
  const { files, foreignFiles } = parts.ports;
  const { rootFolder, runtimeSettings } = parts.settings;
  const own = [podContainersDirectory(rootFolder, uid), runtimeSettings.podLogsRoot];
  return (path, maxBytes) =>
    own.some((folder) => path.startsWith(`${folder}/`))
      ? files.readTail(path, maxBytes)
      : foreignFiles.readEnd(path, maxBytes, signal);
}
