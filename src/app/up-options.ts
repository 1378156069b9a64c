// The settings of `berth up`. All of them are read before anything is written or started: a run that was refused leaves nothing.
import { MANAGED_CONTAINERD_DEFAULTS } from "../drivers/containerd/managed-containerd.ts";
import { readNetwork } from "../drivers/containerd/prepare-machine.ts";
import { cgroupRootProblem } from "../drivers/linux/cgroup-files.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { SetupError } from "../lib/setup-error.ts";
import { dnsSubdomainProblems } from "../model/name-format.ts";
import { parseRuntimeEndpoint } from "../model/runtime-endpoint.ts";
import type { PodRules } from "./create-agent.ts";
import { type EvictionOptions, parseEviction } from "./eviction-options.ts";
import { type HistoryOptions, historyFlags, parseHistory } from "./history-options.ts";
import { type ImageOptions, parseImageOptions, tokensNeedCluster } from "./image-options.ts";
import { type LogRotationOptions, parseLogRotation } from "./log-rotation-options.ts";
import { parseSources, type SourceOptions, type SourceSetup } from "./manifest-sources.ts";
import { defaultNodeName } from "./node-facts.ts";
import { parseSecurity, type SecurityOptions } from "./security-options.ts";
import { parseUi, type UiChoice, type UiOptions, uiFlags } from "./ui-options.ts";
import { defaultPodPids, defaultSeccompDefault } from "./up-defaults.ts";

/** Flags as given. */
export interface UpOptions
  extends SourceOptions,
    LogRotationOptions,
    ImageOptions,
    SecurityOptions,
    EvictionOptions,
    HistoryOptions,
    UiOptions {
  readonly dataDir: string;
  readonly nodeName?: string | undefined;
  readonly runtimeEndpoint?: string | undefined;
  readonly cgroupRoot?: string | undefined;
  readonly bridge?: string | undefined;
  readonly subnet?: string | undefined;
  readonly podMaxPids?: string | undefined;
  readonly downOnExit: boolean;
}

export interface UpSetup {
  readonly dataDir: string;
  readonly nodeName: string;
  /** An existing runtime's socket; without one Berth runs its own containerd. */
  readonly runtimeEndpoint?: string | undefined;
  /** Undefined = one that only this data folder has. */
  readonly cgroupRoot?: string | undefined;
  readonly network: { readonly bridge: string; readonly subnet: string };
  readonly sources: SourceSetup;
  readonly rules: PodRules;
  /** Undefined = no page. */
  readonly ui?: UiChoice | undefined;
  /** Remove everything of the data folder when the agent ends. */
  readonly downOnExit: boolean;
}

/** A refusal names the flag that is wrong. */
export function parseUp(options: UpOptions): Result<UpSetup, string> {
  try {
    return ok(readOptions(options));
  } catch (error) {
    if (error instanceof SetupError) return err(error.message);
    throw error;
  }
}

function readOptions(options: UpOptions): UpSetup {
  const { dataDir, nodeName, runtimeEndpoint, cgroupRoot, downOnExit } = options;
  refuse("--node-name", nodeName, nodeNameProblem, "give one such as node-1");
  refuse("--cgroup-root", cgroupRoot, cgroupRootProblem, "give one such as /berth");
  refuse("--runtime-endpoint", runtimeEndpoint, endpointProblem, "check the path");
  const network = {
    bridge: options.bridge ?? MANAGED_CONTAINERD_DEFAULTS.bridge,
    subnet: options.subnet ?? MANAGED_CONTAINERD_DEFAULTS.subnet,
  };
  readNetwork(network);
  return {
    dataDir,
    nodeName: nodeName ?? defaultNodeName(),
    runtimeEndpoint,
    cgroupRoot,
    network,
    sources: parseSources(options),
    rules: {
      logRotation: parseLogRotation(options),
      security: parseSecurity({
        ...options,
        seccompDefault: options.seccompDefault ?? defaultSeccompDefault,
      }),
      images: parseImageOptions(options, tokensNeedCluster),
      eviction: parseEviction(options),
      history: parseHistory(options, historyFlags),
      podPidsLimit: readPodPids(options.podMaxPids),
    },
    ui: parseUi(options, uiFlags),
    downOnExit,
  };
}

function readPodPids(text: string | undefined): number | undefined {
  if (text === undefined) return defaultPodPids;
  if (text === "-1") return undefined;
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new SetupError(
    `--pod-max-pids: "${text}" is not a number of processes`,
    "give one such as 16384, or -1 for any number",
  );
}

function nodeNameProblem(name: string): string | undefined {
  const [problem] = dnsSubdomainProblems(name);
  return problem === undefined ? undefined : `"${name}" is not a node name, ${problem}`;
}

function endpointProblem(endpoint: string): string | undefined {
  const parsed = parseRuntimeEndpoint(endpoint);
  return parsed.ok ? undefined : parsed.error;
}

function refuse(
  flag: string,
  value: string | undefined,
  problemOf: (value: string) => string | undefined,
  fix: string,
): void {
  const problem = value === undefined ? undefined : problemOf(value);
  if (problem !== undefined) throw new SetupError(`${flag}: ${problem}`, fix);
}
