// `berth up`: the agent with a containerd of its own, or on an existing runtime.
import { createHash } from "node:crypto";
import { isAbsolute, relative, resolve } from "node:path";
import { containerdPaths } from "../drivers/containerd/containerd-paths.ts";
import { ensureImages, pauseImage } from "../drivers/containerd/local-images.ts";
import {
  MANAGED_CONTAINERD_DEFAULTS,
  ManagedContainerd,
} from "../drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../drivers/cri/wait-for-runtime.ts";
import { lockDataDir } from "../drivers/linux/data-dir-lock.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import { shareFolder } from "../drivers/linux/shared-folder.ts";
import { type ServiceManager, takeServiceManager } from "../drivers/systemd/service-notifier.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { SetupError } from "../lib/setup-error.ts";
import { metricDefinitions } from "../model/generated/metrics.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { Log } from "../ports/log.ts";
import type { Watchdog } from "../ports/watchdog.ts";
import { dataLayout, defaultDataDir } from "./data-layout.ts";
import { runDown } from "./down.ts";
import { createSources } from "./manifest-sources.ts";
import { dataDirPacketRules, withPacketRules } from "./packet-rules.ts";
import { foreignFilesProgram } from "./program-parts.ts";
import { runAgent } from "./run-agent.ts";
import { countRuntimeCalls } from "./runtime-metrics.ts";
import { readRuntimeRecord, writeRuntimeRecord } from "./runtime-record.ts";
import { servedUi } from "./serve-ui.ts";
import { startWatchdog } from "./start-watchdog.ts";
import type { UpSetup } from "./up-options.ts";

const runtimeTimeoutMs = 30_000;

/** Runs the agent until `signal` aborts. `onReady`: its API answers. */
export async function runUp(
  options: UpSetup,
  log: Log,
  onReady: (view: AgentView) => void,
  signal: AbortSignal,
): Promise<void> {
  if (!readMachine().isRoot) {
    throw new SetupError("the agent needs to be root to run containers", "run it with sudo");
  }
  requireOutside(options);
  const serviceManager = takeServiceManager(process.env, process.pid);
  const lock = await lockDataDir(options.dataDir);
  const watchdog = startWatchdog(lock.path, log);
  const own = { dataDir: lock.path, watchdog, serviceManager };
  try {
    const run = () => runLocked({ ...options, ...own }, log, onReady, signal);
    // A network of Berth's own has its rules from the start, and containerd's supervision keeps them.
    const isManaged = options.runtimeEndpoint === undefined;
    const rules = isManaged ? [] : dataDirPacketRules(lock.path);
    await withPacketRules({ rules, log }, run, signal);
  } finally {
    watchdog.close();
    await lock.release();
  }
  if (options.downOnExit) await runDown(options.dataDir, log);
}

// What lies in the data folder is the agent's, and `berth down` removes it.
function requireOutside({ dataDir, sources: { manifests } }: UpSetup): void {
  if (manifests === undefined) return;
  const inside = relative(resolve(dataDir), resolve(manifests));
  if (inside.startsWith("..") || isAbsolute(inside) || inside === "manifests") return;
  throw new SetupError(
    `the manifests ${manifests} lie in the data folder ${dataDir}`,
    `move them out of it, or to ${dataLayout(dataDir).manifests}`,
  );
}

interface UpOwn {
  readonly watchdog: Watchdog;
  readonly serviceManager: ServiceManager | undefined;
}

async function runLocked(
  options: UpSetup & UpOwn,
  log: Log,
  onReady: (view: AgentView) => void,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir, network, nodeName, rules, watchdog } = options;
  const cgroupRoot = options.cgroupRoot ?? defaultCgroupRoot(dataDir);
  const isManaged = options.runtimeEndpoint === undefined;
  const endpoint = options.runtimeEndpoint ?? `unix://${containerdPaths(dataDir).socket}`;
  // Before anything is started: `berth down` must know of it whatever happens next.
  const record = { endpoint, network: isManaged ? network : undefined, cgroupRoot };
  await requireSameRuntime(dataDir, isManaged);
  await writeRuntimeRecord(dataDir, record);
  const own = { ...MANAGED_CONTAINERD_DEFAULTS, ...network, dataDir, cgroupRoot };
  const managed = isManaged
    ? await ManagedContainerd.start(own, readMachine(), log, signal)
    : undefined;
  const metrics = new MetricsRegistry(metricDefinitions);
  const runtime = createCriRuntime(endpoint, { onCall: countRuntimeCalls(metrics) });
  try {
    await waitForRuntime(runtime, runtimeTimeoutMs, signal);
    if (managed !== undefined) {
      const target = { images: runtime, ctr: managed.tools.ctr, socket: managed.paths.socket };
      await ensureImages(target, [pauseImage(MANAGED_CONTAINERD_DEFAULTS.sandboxImage)], signal);
    }
    const layout = dataLayout(dataDir);
    // CSI drivers that run as pods mount volumes for other pods there.
    await hostFiles.ensureFolder(layout.rootFolder, 0o750);
    await shareFolder(layout.rootFolder, new HungPaths(Date.now), signal);
    const sources = createSources(options.sources, nodeName, layout);
    await runAgent(
      {
        place: { dataDir, nodeName, cgroupRoot, foreignFilesProgram },
        runtime,
        runtimeEndpoint: endpoint,
        sources,
        rules,
        telemetry: { log, metrics, watchdog },
      },
      {
        socketPath: layout.socket,
        ui: servedUi(options.ui, { mode: "up", agentSocket: layout.socket, log }),
        onReady,
        serviceManager: options.serviceManager,
      },
      signal,
    );
  } finally {
    runtime.close();
    await managed?.detach();
  }
}

// Another runtime would not know the pods of the first one, and `berth down` would forget them.
async function requireSameRuntime(dataDir: string, isManaged: boolean): Promise<void> {
  const before = await readRuntimeRecord(dataDir);
  // A damaged one is written again: this agent takes over what is there.
  if (before === undefined || before === "damaged") return;
  if ((before.network !== undefined) === isManaged) return;
  const used = isManaged ? `the runtime at ${before.endpoint}` : "a containerd of Berth's own";
  throw new SetupError(
    `the data folder ${dataDir} was used with ${used}`,
    "run `berth down` first, or choose another data folder",
  );
}

/** A cgroup that no agent of another data folder shares: each removes what it does not know below its own. */
function defaultCgroupRoot(dataDir: string): string {
  if (dataDir === defaultDataDir) return "/berth";
  return `/berth-${createHash("sha256").update(dataDir).digest("hex").slice(0, 8)}`;
}
