// `berth sim`: the agent on a simulated machine, where pods do what their annotations say.

import { lstat, mkdir, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { lockDataDir } from "../drivers/linux/data-dir-lock.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { createFileSource } from "../drivers/manifest/file-source.ts";
import { type PodScript, parsePodScript } from "../drivers/sim/pod-script.ts";
import { scaledClock } from "../drivers/sim/scaled-clock.ts";
import { ScriptedRuntime } from "../drivers/sim/scripted-runtime.ts";
import { scriptedHookHttp, scriptedProbeRunner } from "../drivers/sim/scripted-world.ts";
import { SimCgroups } from "../drivers/sim/sim-cgroups.ts";
import { SimEvents } from "../drivers/sim/sim-events.ts";
import { SimForeignFiles } from "../drivers/sim/sim-foreign-files.ts";
import { SimHistory } from "../drivers/sim/sim-history.ts";
import { simDisk } from "../drivers/sim/sim-host.ts";
import { SimMounts } from "../drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../drivers/sim/sim-payload-files.ts";
import type { AgentPorts, TelemetryPorts } from "../engine/agent/agent-ports.ts";
import type { AgentSettings } from "../engine/agent/agent-settings.ts";
import { Agent } from "../engine/agent.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { SetupError } from "../lib/setup-error.ts";
import { metricDefinitions } from "../model/generated/metrics.ts";
import { type Pod, podKey } from "../model/pod.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";
import type { PodSource, SourceProblem, SourceSnapshot } from "../ports/pod-source.ts";
import type { Watchdog } from "../ports/watchdog.ts";
import { dataLayout } from "./data-layout.ts";
import { readProblem } from "./read-problem.ts";
import { serveAgent } from "./run-agent.ts";
import { scriptProblems } from "./script-problems.ts";
import { servedUi } from "./serve-ui.ts";
import { type SimMachine, simHostIp, simPorts, simSettings } from "./sim-agent.ts";
import { startWatchdog } from "./start-watchdog.ts";
import type { UiChoice } from "./ui-options.ts";

export interface SimOptions {
  /** Files and folders. */
  readonly manifests: readonly string[];
  readonly speed: number;
  readonly nodeName: string;
  /** Undefined = a folder of this user's own. */
  readonly dataDir?: string | undefined;
  /** Of the user that runs it; undefined where the system has none. */
  readonly runtimeDir?: string | undefined;
  /** Undefined = no page. */
  readonly ui?: UiChoice | undefined;
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
  const socketPath = dataLayout(dataDir).socket;
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
      socketPath,
      ui: servedUi(options.ui, { mode: "sim", agentSocket: socketPath, log }),
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
      historyStore: new SimHistory(),
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
    node: { ...settings.node, devicePluginFolder: join(rootFolder, "device-plugins") },
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
    claims: snapshots.flatMap((one) => one.claims ?? []),
    persistentVolumes: snapshots.flatMap((one) => one.persistentVolumes ?? []),
    csiDrivers: snapshots.flatMap((one) => one.csiDrivers ?? []),
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
    else problems.push(...scriptProblems(pod));
    return script.ok;
  });
  return { ...snapshot, pods, problems: [...snapshot.problems, ...problems] };
}
