import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { ensureImages, pauseImage } from "../../../src/drivers/containerd/local-images.ts";
import {
  MANAGED_CONTAINERD_DEFAULTS,
  ManagedContainerd,
  type ManagedContainerdOptions,
} from "../../../src/drivers/containerd/managed-containerd.ts";
import { type CriRuntime, createCriRuntime } from "../../../src/drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../../../src/drivers/cri/wait-for-runtime.ts";
import type { GrpcObserver } from "../../../src/drivers/grpc/grpc-connection.ts";
import { type LockedDataDir, lockDataDir } from "../../../src/drivers/linux/data-dir-lock.ts";
import { readMachine } from "../../../src/drivers/linux/read-machine.ts";
import {
  type ContainerConfig,
  type PodSandboxConfig,
  Protocol,
} from "../../../src/model/generated/cri.ts";
import { isNotFound } from "../../../src/model/runtime-error.ts";
import { busyboxImage } from "../../../tools/images/busybox-image.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { BUSYBOX } from "./busybox.ts";
import { findLeftovers, removeCgroups } from "./leftovers.ts";
import { makeTestFolder } from "./test-folder.ts";

/** Each test file has a network of its own, so that files may run at once: 0 to 254. */
export interface RuntimeWorldOptions {
  readonly network: number;
  /** The folder that holds the data folder: another disk, say. */
  readonly folder?: string;
  readonly onCall?: GrpcObserver;
  /** Another program than the machine's containerd. */
  readonly program?: string;
}

/** A managed containerd in a temporary folder with the pause and busybox images, and a client to it. */
export interface RuntimeWorld {
  readonly dataDir: string;
  readonly options: ManagedContainerdOptions;
  readonly containerd: ManagedContainerd;
  readonly runtime: CriRuntime;
  /** For the cgroups of the tests' pods. */
  readonly cgroupRoot: string;
  runPod(pod: TestPod): Promise<StartedPod>;
  removePod(sandboxId: string): Promise<void>;
  /** Tears everything down; throws when a process, mount, interface, rule or cgroup is left. */
  close(): Promise<void>;
}

/** A pod whose container "main" runs a busybox command. */
export interface TestPod {
  readonly name: string;
  readonly command: readonly string[];
  /** Leads to the pod's port 80. */
  readonly hostPort?: number;
}

export interface StartedPod {
  readonly sandboxId: string;
  readonly containerId: string;
}

const START_TIMEOUT_MS = 60_000;
const retryMs = 200;

export async function startRuntimeWorld(given: RuntimeWorldOptions): Promise<RuntimeWorld> {
  const lock = await lockDataDir(makeTestFolder("test", given.folder));
  const options = worldOptions(lock.path, given.network);
  const containerd = await startContainerd(options, given.program);
  const runtime = createCriRuntime(containerd.endpoint, { onCall: given.onCall });
  const close = async (): Promise<void> => {
    runtime.close();
    await containerd.teardown();
    await closeDataDir(lock, options);
  };
  try {
    await prepareImages(containerd, runtime);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    dataDir: lock.path,
    options,
    containerd,
    runtime,
    cgroupRoot: cgroupRoot(options),
    runPod: (pod) => runPod(runtime, options, pod),
    removePod: (sandboxId) => removePod(runtime, sandboxId),
    close,
  };
}

/** The last call of an agent that was killed may be carried out only now: what it is at fails until it is done. */
async function removePod(runtime: CriRuntime, sandboxId: string): Promise<void> {
  const timeout = AbortSignal.timeout(START_TIMEOUT_MS);
  for (;;) {
    try {
      await runtime.stopPodSandbox(sandboxId, timeout);
      await runtime.removePodSandbox(sandboxId, timeout);
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (timeout.aborted) throw error;
      await delay(retryMs);
    }
  }
}

/** Runs a pod on a managed containerd with these options. */
export async function runPod(
  runtime: CriRuntime,
  options: ManagedContainerdOptions,
  { name, command, hostPort }: TestPod,
): Promise<StartedPod> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  const sandbox: PodSandboxConfig = {
    metadata: { name, uid: name, namespace: "test", attempt: 0 },
    hostname: name,
    logDirectory: `${options.dataDir}/logs/${name}`,
    linux: { cgroupParent: `${cgroupRoot(options)}/${name}` },
    portMappings:
      hostPort === undefined ? [] : [{ protocol: Protocol.TCP, containerPort: 80, hostPort }],
  };
  const sandboxId = await runtime.runPodSandbox(sandbox, "", signal);
  const container: ContainerConfig = {
    metadata: { name: "main", attempt: 0 },
    image: { image: BUSYBOX },
    command,
    logPath: "main/0.log",
    linux: {},
  };
  const containerId = await runtime.createContainer(sandboxId, container, sandbox, signal);
  await runtime.startContainer(containerId, signal);
  return { sandboxId, containerId };
}

function cgroupRoot({ bridge }: ManagedContainerdOptions): string {
  return `/${bridge}`;
}

/** The options of a managed containerd with test network `network`. */
export function worldOptions(dataDir: string, network: number): ManagedContainerdOptions {
  return {
    ...MANAGED_CONTAINERD_DEFAULTS,
    dataDir,
    bridge: `berth-t${network}`,
    subnet: `10.99.${network}.0/24`,
  };
}

export function startContainerd(
  options: ManagedContainerdOptions,
  program?: string,
): Promise<ManagedContainerd> {
  const machine = readMachine();
  const tools = { ...machine.tools, ...(program !== undefined && { containerd: program }) };
  return ManagedContainerd.start(
    options,
    { ...machine, tools },
    silentLog,
    AbortSignal.timeout(START_TIMEOUT_MS),
  );
}

/** Waits for the runtime and gives it the images of the tests. */
export async function prepareImages(
  containerd: ManagedContainerd,
  runtime: CriRuntime,
): Promise<void> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  await waitForRuntime(runtime, START_TIMEOUT_MS, signal);
  await ensureImages(
    { images: runtime, ctr: containerd.tools.ctr, socket: containerd.paths.socket },
    [
      pauseImage(MANAGED_CONTAINERD_DEFAULTS.sandboxImage),
      busyboxImage("latest"),
      busyboxImage("1.36"),
    ],
    signal,
  );
}

/** Removes the data folder of a torn down containerd; throws when something of it is left on the machine. */
export async function closeDataDir(
  lock: LockedDataDir,
  options: ManagedContainerdOptions,
): Promise<void> {
  removeCgroups(cgroupRoot(options));
  const left = findLeftovers(options);
  await lock.release();
  await rm(lock.path, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`left on the machine:\n${left.join("\n")}`);
}
