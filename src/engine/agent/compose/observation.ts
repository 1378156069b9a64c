import { Observer } from "../../observe/observer.ts";
import { PodReader } from "../../observe/pod-reader.ts";
import { Prober } from "../../probes/prober.ts";
import type { AgentParts } from "../agent-parts.ts";

export function composeReader(parts: AgentParts): PodReader {
  const { runtime, files, foreignFiles, clock, log, metrics } = parts.ports;
  const { rootFolder, runtimeName, runtimeSettings } = parts.settings;
  const { table, observed, faults, wakeups } = parts;
  const { containerStopSignals: hasStopSignals, podLogsRoot } = runtimeSettings;
  const messages = { files, foreignFiles, rootFolder, podLogsRoot };
  return new PodReader(
    {
      table,
      observed,
      reading: { runtime, clock, runtimeName, hasStopSignals, messages, table, exits: observed },
      clock,
      log,
      faults,
      metrics,
      wakeups,
    },
    parts.signal,
  );
}

export function composeObserver(parts: AgentParts): Observer {
  const { runtime, runtimeEvents: eventSources, clock, log, metrics } = parts.ports;
  const { observed, reader, health, wakeups } = parts;
  return new Observer(
    { runtime, eventSources, observed, reader, health, clock, log, metrics, wakeups },
    parts.signal,
  );
}

export function composeProber(parts: AgentParts): Prober {
  const { clock, random, probeRunner, metrics } = parts.ports;
  const { table, statuses, faults, wakeups, startedAtMs } = parts;
  return new Prober({
    table,
    statuses,
    runner: probeRunner,
    events: parts.memory.events,
    faults,
    metrics,
    wakeups,
    clock,
    random,
    agentStartedAtMs: startedAtMs,
  });
}
