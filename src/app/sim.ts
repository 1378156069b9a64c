// `berth sim`: the agent on a simulated machine, where pods do what their annotations say.
import { lstat, mkdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDataDir } from "../drivers/linux/data-dir-lock.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { scaledClock } from "../drivers/sim/scaled-clock.ts";
import { ScriptedRuntime } from "../drivers/sim/scripted-runtime.ts";
import { scriptedHookHttp, scriptedProbeRunner } from "../drivers/sim/scripted-world.ts";
import { SimCgroups } from "../drivers/sim/sim-cgroups.ts";
import { SimEvents } from "../drivers/sim/sim-events.ts";
import { SimForeignFiles } from "../drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../drivers/sim/sim-host.ts";
import { SimJournal } from "../drivers/sim/sim-journal.ts";
import { SimMounts } from "../drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../drivers/sim/sim-payload-files.ts";
import type { AgentPorts, TelemetryPorts } from "../engine/agent/agent-ports.ts";
import type { AgentSettings } from "../engine/agent/agent-settings.ts";
import { Agent } from "../engine/agent.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { SetupError } from "../lib/setup-error.ts";
import { metricDefinitions } from "../model/generated/metrics.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";
import type { PodSource } from "../ports/pod-source.ts";
import type { Watchdog } from "../ports/watchdog.ts";
import { dataLayout } from "./data-layout.ts";
import { serveAgent } from "./run-agent.ts";
import { type SimMachine, simHostIp, simPorts, simSettings } from "./sim-agent.ts";
import { simSource } from "./sim-sources.ts";
import { startWatchdog } from "./start-watchdog.ts";

export interface SimOptions {
  /** Files and folders. */
  readonly manifests: readonly string[];
  readonly speed: number;
  readonly nodeName: string;
  /** Undefined = a folder of this user's own. */
  readonly dataDir?: string | undefined;
  /** Of the user that runs it; undefined where the system has none. */
  readonly runtimeDir?: string | undefined;
}

/** Runs the agent until `signal` aborts. `onReady`: its API answers for that data folder. */
export async function runSim(
  options: SimOptions,
  log: Log,
  onReady: (dataDir: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const lock = await lockDataDir(options.dataDir ?? (await ownFolder(options.runtimeDir)));
  const files = join(lock.path, "sim");
  const watchdog = startWatchdog(lock.path, log);
  try {
    await rm(files, { recursive: true, force: true });
    await mkdir(files, { mode: 0o700 });
    await runLocked(options, { dataDir: lock.path, files, log, watchdog, onReady }, signal);
  } finally {
    watchdog.close();
    await rm(files, { recursive: true, force: true });
    await lock.release();
    // Stays when there is something else in it.
    await rmdir(lock.path).catch(() => undefined);
  }
}

interface SimPlace {
  readonly dataDir: string;
  /** What the agent writes; nothing of it outlasts the agent, as its containers do not. */
  readonly files: string;
  readonly log: Log;
  readonly watchdog: Watchdog;
  readonly onReady: (dataDir: string) => void;
}

async function runLocked(options: SimOptions, place: SimPlace, signal: AbortSignal): Promise<void> {
  const { manifests, nodeName, speed } = options;
  const { dataDir, log, watchdog } = place;
  const clock = scaledClock(systemClock, speed);
  const events = new SimEvents();
  const runtime = new ScriptedRuntime({
    clock,
    files: hostFiles,
    onEvent: (event) => events.emit(event),
  });
  const source = await simSource(manifests, nodeName, (pod, script) =>
    runtime.setScript(pod, script),
  );
  const settings = placedSettings(nodeName, place.files);
  const machine = { clock, runtime, events, files: hostFiles };
  await serveAgent(
    (lifetime) => {
      const metrics = new MetricsRegistry(metricDefinitions);
      return new Agent(
        scriptedPorts(machine, source, { log, metrics, watchdog }),
        settings,
        lifetime,
      );
    },
    {
      socketPath: dataLayout(dataDir).socket,
      clock,
      speed,
      onReady: () => place.onReady(dataDir),
    },
    signal,
  );
}

function scriptedPorts(
  machine: Pick<SimMachine, "clock" | "events"> & {
    readonly runtime: ScriptedRuntime;
    readonly files: HostFiles;
  },
  source: PodSource,
  telemetry: TelemetryPorts,
): AgentPorts {
  const { runtime, clock, files } = machine;
  const payloadFiles = new SimPayloadFiles();
  const mounts = new SimMounts();
  const ports = simPorts(
    {
      ...machine,
      payloadFiles,
      foreignFiles: new SimForeignFiles({
        payloads: payloadFiles,
        mounts,
        readEnd: (path, maxBytes) => files.readTail(path, maxBytes),
        removeTree: (path) => rm(path, { recursive: true, force: true }),
        disk: () => simDisk(clock.nowMs()),
      }),
      mounts,
      cgroups: new SimCgroups(),
      journal: new SimJournal(),
    },
    { podSources: [source], random: Math.random, ...telemetry },
  );
  return {
    ...ports,
    probeRunner: scriptedProbeRunner(runtime, clock),
    hookHttp: scriptedHookHttp(runtime, clock, simHostIp),
  };
}

/** The usual settings, with what is written in real files: logs are read by others. */
function placedSettings(nodeName: string, folder: string): AgentSettings {
  const settings = simSettings(nodeName);
  const rootFolder = join(folder, "kubelet");
  return {
    ...settings,
    rootFolder,
    runtimeSettings: { ...settings.runtimeSettings, podLogsRoot: join(folder, "logs") },
  };
}

/** A folder that only this user can write to, also where others could have made one of its name before. */
async function ownFolder(runtimeDir: string | undefined): Promise<string> {
  const userId = process.getuid?.();
  const path =
    runtimeDir === undefined
      ? join(tmpdir(), `berth-sim-${userId}`)
      : join(runtimeDir, "berth-sim");
  await mkdir(path, { recursive: true, mode: 0o700 });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o022) !== 0) {
    throw new SetupError(
      `${path} is not this user's own folder`,
      "give another one with --data-dir",
    );
  }
  return path;
}
