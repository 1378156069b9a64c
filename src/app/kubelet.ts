// `berth kubelet`: the agent in a kubelet's place, on its configuration, root folder and runtime.

import { writeFileSync } from "node:fs";
import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { kubeletPacketRules } from "../core/network/packet-rules.ts";
import { legacyContainerLogsDirectory } from "../core/paths/log-paths.ts";
import { createCriRuntime } from "../drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../drivers/cri/wait-for-runtime.ts";
import type { GrpcObserver } from "../drivers/grpc/grpc-connection.ts";
import { linuxCommands } from "../drivers/linux/commands.ts";
import { lockDataDir } from "../drivers/linux/data-dir-lock.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import { kernelSettingFiles } from "../drivers/linux/kernel-setting-files.ts";
import { setOpenFileLimit } from "../drivers/linux/open-file-limit.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import { shareFolder } from "../drivers/linux/shared-folder.ts";
import { isSwapOn } from "../drivers/linux/swap.ts";
import { type ServiceManager, takeServiceManager } from "../drivers/systemd/service-notifier.ts";
import type { Agent } from "../engine/agent.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { errorText } from "../lib/error-text.ts";
import { parseIpAddress } from "../lib/ip-address.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { SetupError } from "../lib/setup-error.ts";
import { berthVersion } from "../lib/version.ts";
import { metricDefinitions } from "../model/generated/metrics.ts";
import { parseRuntimeEndpoint } from "../model/runtime-endpoint.ts";
import type { AdjustableLog, Log } from "../ports/log.ts";
import type { Tracer } from "../ports/tracer.ts";
import type { Watchdog } from "../ports/watchdog.ts";
import { openClusterConnection } from "./cluster-connection.ts";
import { kubeletFolder } from "./data-layout.ts";
import { applyKernelSettings } from "./kernel-settings.ts";
import { runKubeletApi } from "./kubelet-api.ts";
import { requireAccessConfig, safeApiConfig } from "./kubelet-api-options.ts";
import { kubeletAgentOptions, kubeletRootDir } from "./kubelet-options.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { withLockFile } from "./lock-file.ts";
import { withPacketRules } from "./packet-rules.ts";
import { kubeletPodUsers } from "./pod-users.ts";
import { runAgent } from "./run-agent.ts";
import { countRuntimeCalls } from "./runtime-metrics.ts";
import { servedUi } from "./serve-ui.ts";
import { startWatchdog } from "./start-watchdog.ts";
import { keepSystemCgroups, requireSystemCgroups } from "./system-cgroups.ts";
import { parseUi, readUiVariables, uiVariables } from "./ui-options.ts";

const runtimeTimeoutMs = 30_000;

/** Runs the agent until `signal` aborts; the pods go on then. `onReady` is given the root folder, where the API answers. */
export async function runKubelet(
  setup: KubeletSetup,
  log: AdjustableLog,
  onReady: (rootDir: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await requireMachine(setup.config);
  await withLockFile(setup, log, (until) => runAlone(setup, log, onReady, until), signal);
}

async function runAlone(
  setup: KubeletSetup,
  log: AdjustableLog,
  onReady: (rootDir: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const serviceManager = takeServiceManager(process.env, process.pid);
  const hasCluster = (setup.settings.get("kubeconfig") ?? "") !== "";
  requireAccessConfig(safeApiConfig(setup).config, hasCluster);
  const lock = await lockDataDir(kubeletRootDir(setup));
  const watchdog = startWatchdog(join(lock.path, kubeletFolder), log);
  try {
    logWarnings(setup, log);
    setOomScore(setup.config.oomScoreAdj, log);
    await setMaxOpenFiles(setup.config.maxOpenFiles, log, signal);
    await mkdir(join(lock.path, kubeletFolder), { recursive: true, mode: 0o700 });
    const rules = setup.config.makeIPTablesUtilChains ? kubeletPacketRules : [];
    const own = { log, watchdog, serviceManager, onReady: () => onReady(lock.path) };
    const run = () => runLocked(setup, lock.path, own, signal);
    await withPacketRules({ rules, log }, run, signal);
  } finally {
    watchdog.close();
    await lock.release();
  }
}

interface KubeletOwn {
  readonly log: AdjustableLog;
  readonly watchdog: Watchdog;
  readonly serviceManager: ServiceManager | undefined;
  readonly onReady: () => void;
}

async function runLocked(
  setup: KubeletSetup,
  rootDir: string,
  { log, watchdog, serviceManager, onReady }: KubeletOwn,
  signal: AbortSignal,
): Promise<void> {
  const commands = linuxCommands(new HungPaths(Date.now));
  const users = await kubeletPodUsers(setup.config, commands, signal);
  const options = kubeletAgentOptions(setup, rootDir, users);
  const { nodeName } = options.place;
  const ui = parseUi(readUiVariables(process.env), uiVariables);
  const socketPath = join(rootDir, "berth.sock");
  const metrics = new MetricsRegistry(metricDefinitions);
  const tracer = await openTracer(setup.config, nodeName);
  const count = countRuntimeCalls(metrics);
  const runtime = createCriRuntime(options.runtimeEndpoint, {
    timeoutMs: millisecondsOf(setup.config.runtimeRequestTimeout),
    imageEndpoint: setup.config.imageServiceEndpoint || undefined,
    onCall: (call) => {
      count(call);
      tracer?.onCall(call);
    },
  });
  let agent: Agent | undefined;
  try {
    const addresses = () => agent?.nodeAddresses ?? [];
    const deps = { nodeName, addresses, log, metrics };
    const connection = await openClusterConnection(setup, deps, signal);
    await prepareMachine(setup, rootDir, log, signal);
    await waitForRuntime(runtime, runtimeTimeoutMs, signal);
    await runAgent(
      {
        ...options,
        clients: connection.clients,
        runtime,
        telemetry: { log, metrics, tracer, watchdog },
      },
      {
        socketPath,
        ui: servedUi(ui, { mode: "kubelet", agentSocket: socketPath, log }),
        onReady,
        serviceManager,
        beside: async (running, until) => {
          agent = running;
          const api = { setup, agent: running, connection, metrics, nodeName, log };
          await Promise.all([
            connection.run(until),
            runKubeletApi(api, until),
            keepSystemCgroups(setup.config, log, until),
          ]);
        },
      },
      signal,
    );
  } finally {
    runtime.close();
    await tracer?.close();
  }
}

/** Only once all that was configured is known to be usable: a start that is refused changes nothing. */
async function prepareMachine(
  setup: KubeletSetup,
  rootDir: string,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const protects = setup.config.protectKernelDefaults;
  const inUserNamespace = isFeatureEnabled(setup.gates, "KubeletInUserNamespace");
  await applyKernelSettings({ protects, inUserNamespace }, kernelSettingFiles(), log);
  await shareFolder(rootDir, new HungPaths(Date.now), signal);
  await mkdir(legacyContainerLogsDirectory, { recursive: true, mode: 0o755 });
}

async function requireMachine(config: KubeletConfiguration): Promise<void> {
  if (!readMachine().isRoot) {
    throw new SetupError("the agent needs to be root to run containers", "run it with sudo");
  }
  requireSystemCgroups(config);
  if (config.failSwapOn && isSwapOn()) {
    throw new SetupError(
      "this machine swaps, and failSwapOn (--fail-swap-on) forbids that",
      "turn swap off, or set failSwapOn to false",
    );
  }
  for (const name of ["containerRuntimeEndpoint", "imageServiceEndpoint"] as const) {
    const endpoint = parseRuntimeEndpoint(config[name] || config.containerRuntimeEndpoint);
    if (!endpoint.ok) throw new SetupError(`${name}: ${endpoint.error}`, "correct the endpoint");
  }
  if (config.resolvConf === "") return;
  await access(config.resolvConf).catch((error: unknown) => {
    throw new SetupError(
      `resolvConf ${config.resolvConf} cannot be read (${errorText(error)})`,
      'name a file, or "" for none',
      { cause: error },
    );
  });
}

function logWarnings({ config, warnings }: KubeletSetup, log: Log): void {
  for (const warning of warnings) log.warn("a setting has no effect", { setting: warning });
  for (const address of config.clusterDNS ?? []) {
    if (parseIpAddress(address) === undefined) {
      log.warn("clusterDNS has an entry that is not an IP address", { address });
    }
  }
}

/** Where the kernel does not allow it, the agent runs as it was started. */
function setOomScore(score: number, log: Log): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", `${score}\n`);
  } catch (error) {
    log.warn("cannot set oomScoreAdj", { score, error: errorText(error) });
  }
}

/** Where the kernel does not allow so many, the agent goes on with what it has. */
async function setMaxOpenFiles(count: number, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await setOpenFileLimit(count, signal);
  } catch (error) {
    if (signal.aborted) return;
    log.warn("cannot set maxOpenFiles", { count, error: errorText(error) });
  }
}

const defaultEndpoint = "localhost:4317";

/** A tracer that also takes the runtime's calls. */
interface NodeTracer extends Tracer {
  readonly onCall: GrpcObserver;
  close(): Promise<void>;
}

/** Undefined when the configuration asks for no traces; then nothing of it is loaded. */
async function openTracer(
  { tracing }: KubeletConfiguration,
  nodeName: string,
): Promise<NodeTracer | undefined> {
  const { endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = tracing ?? {};
  if (tracing === undefined) return undefined;
  const { OtlpTracer } = await import("../drivers/telemetry/otlp-tracer.ts");
  const options = { endpoint, samplingRatePerMillion, nodeName, version: berthVersion };
  const tracer = new OtlpTracer(options);
  return {
    span: (name, attributes, work) => tracer.span(name, attributes, work),
    onCall: ({ method, startedMs, endedMs, error }) => {
      tracer.noteCall({ name: `runtime.v1/${method}`, startedMs, endedMs, error });
    },
    close: () => tracer.close(),
  };
}
