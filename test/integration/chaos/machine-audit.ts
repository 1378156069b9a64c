import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { mountPointsBelow, parseMountInfo } from "../../../src/lib/mount-info.ts";
import {
  type Container,
  ContainerState,
  type PodSandbox,
  PodSandboxState,
} from "../../../src/model/generated/cri.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { AgentWorld } from "../support/agent-world.ts";
import { versionLabel, type WantedPod } from "./chaos-pods.ts";
import { podCgroups, podProcesses, readText } from "./pod-processes.ts";

const pollMs = 500;
const callTimeoutMs = 10_000;
const uidLabel = "io.kubernetes.pod.uid";

/** How the machine differs from what is wanted, when there was time enough to bring it in line. */
export async function differencesLeft(
  world: AgentWorld,
  wanted: readonly WantedPod[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const timeout = AbortSignal.timeout(timeoutMs);
  for (;;) {
    // Who does not answer yet may have anything.
    const found = await differences(world, wanted).catch((error: unknown) => [String(error)]);
    if (found.length === 0 || timeout.aborted) return found;
    await delay(pollMs);
  }
}

/** Asks the agent, the runtime and the kernel. */
async function differences(
  world: AgentWorld,
  wanted: readonly WantedPod[],
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const { items: shown } = await world.client.listPods(undefined, {}, signal);
  const sandboxes = await world.runtime.listPodSandboxes({}, signal);
  const containers = await world.runtime.listContainers({}, signal);
  const live: Live = {
    uids: new Set(shown.map(({ metadata }) => metadata.uid)),
    sandboxes: sandboxes.filter(({ state }) => state === PodSandboxState.SANDBOX_READY),
    containers: containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING),
    known: new Set([...sandboxes, ...containers].map(({ id = "" }) => id)),
  };
  return [
    ...unlikeManifests(world, shown, wanted),
    ...shown.flatMap((pod) => unlikeSpec(world, pod, wanted, live)),
    ...[...sandboxes, ...containers]
      .filter(({ labels }) => !live.uids.has(labels?.[uidLabel] ?? ""))
      .map(
        (one) => `the runtime has ${one.id} of a pod that is gone: ${JSON.stringify(one.labels)}`,
      ),
    ...leftProcesses(world, live),
    ...leftFiles(world, live),
    ...leftNetwork(world, live),
    ...leftInContainerd(world, live),
  ];
}

/** What may be there. */
interface Live {
  readonly uids: ReadonlySet<string>;
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** Ids of all sandboxes and containers, also those that ended. */
  readonly known: ReadonlySet<string>;
}

/** The agent shows the pods of the manifests and no others. */
function unlikeManifests(
  world: AgentWorld,
  shown: readonly Pod[],
  wanted: readonly WantedPod[],
): readonly string[] {
  const text = (name: string, version: string | undefined): string => `${name} version ${version}`;
  const has = shown.map(({ metadata }) => text(metadata.name, metadata.labels?.[versionLabel]));
  const wants = wanted.map(({ name, version }) => text(world.podName(name), version));
  return [
    ...wants.filter((one) => !has.includes(one)).map((one) => `the agent does not show ${one}`),
    ...has.filter((one) => !wants.includes(one)).map((one) => `the agent still shows ${one}`),
  ];
}

/** A pod has one sandbox and one instance of each container, or none when it has ended. */
function unlikeSpec(
  world: AgentWorld,
  { metadata, status }: Pod,
  wanted: readonly WantedPod[],
  live: Live,
): readonly string[] {
  const pod = wanted.find(({ name }) => world.podName(name) === metadata.name);
  if (pod === undefined) return [];
  const isOfPod = ({ labels }: PodSandbox | Container): boolean =>
    labels?.[uidLabel] === metadata.uid;
  const sandboxes = live.sandboxes.filter(isOfPod).length;
  const containers = live.containers.filter(isOfPod).map((one) => one.metadata?.name ?? "");
  const processes = new Set(
    podProcesses(world.bridge)
      .filter(({ uid }) => uid === metadata.uid)
      .map(({ containerId }) => containerId),
  );
  const seen = { sandboxes, containers: containers.toSorted(), processes: processes.size };
  const isAsWanted = {
    runs:
      status?.phase === "Running" &&
      sandboxes === 1 &&
      seen.containers.join(" ") === pod.running.join(" ") &&
      processes.size === pod.running.length + 1,
    ends:
      (status?.phase === "Succeeded" || status?.phase === "Failed") &&
      sandboxes + containers.length + processes.size === 0,
    crashes: sandboxes === 1 && containers.length <= 1 && processes.size === containers.length + 1,
  };
  if (isAsWanted[pod.fate]) return [];
  return [
    `${metadata.name} (${metadata.uid}, ${pod.fate}) has ${JSON.stringify({ seen, status })}`,
  ];
}

/** Processes and cgroups that belong to nothing that runs. */
function leftProcesses({ bridge, dataDir, containerdSocket }: AgentWorld, live: Live): string[] {
  const running = new Set([...live.sandboxes, ...live.containers].map(({ id }) => id));
  const commands = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid, words: readText(`/proc/${pid}/cmdline`).split("\0") }));
  const shims = commands.filter(
    ({ words }) =>
      basename(words[0] ?? "").startsWith("containerd-shim") && words.includes(containerdSocket),
  );
  const helpers = commands.filter(
    ({ words }) =>
      basename(words[0] ?? "") === "runc" && words.some((word) => word.startsWith(dataDir)),
  );
  return [
    ...shims
      .filter(({ words }) => !running.has(words[words.indexOf("-id") + 1] ?? ""))
      .map(({ pid, words }) => `shim ${pid} is left: ${words.join(" ")}`),
    ...helpers.map(({ pid, words }) => `process ${pid} is left: ${words.join(" ")}`),
    ...podCgroups(bridge)
      .filter(({ uid, containerId }) =>
        containerId === undefined ? !live.uids.has(uid) : !running.has(containerId),
      )
      .map(({ folder }) => `cgroup ${folder} is left`),
  ];
}

/** Mounts, folders and logs of pods that are gone. */
function leftFiles({ dataDir, manifests }: AgentWorld, live: Live): readonly string[] {
  const running = [...live.sandboxes, ...live.containers].map(({ id = "" }) => id);
  const mounts = mountPointsBelow(
    parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8")),
    dataDir,
  );
  const ofPods = {
    folder: namesIn(join(dataDir, "kubelet/pods")),
    log: namesIn(join(dataDir, "logs")),
    status: namesIn(join(dataDir, "kubelet/statuses")),
  };
  const isOfLivePod = (name: string): boolean => [...live.uids].some((uid) => name.includes(uid));
  return [
    ...mounts
      // The agent's own, through which mounts of drivers that are pods reach the node.
      .filter((path) => path !== join(dataDir, "kubelet") && !path.includes("/netns/"))
      .filter((path) => !running.some((id) => path.includes(id)) && !isOfLivePod(path))
      .map((path) => `mount ${path} is left`),
    ...Object.entries(ofPods).flatMap(([kind, names]) =>
      names.filter((name) => !isOfLivePod(name)).map((name) => `${kind} ${name} is left`),
    ),
    ...(namesIn(manifests).length === 0 && namesIn(join(dataDir, "last-good")).length > 0
      ? ["copies of manifests that are gone are left"]
      : []),
  ];
}

/** Network namespaces, interfaces, addresses, rules and cached results of sandboxes that are gone. */
function leftNetwork({ bridge, dataDir }: AgentWorld, live: Live): readonly string[] {
  const ids = new Set(live.sandboxes.map(({ id = "" }) => id));
  const isLeft = (text: string): boolean => ![...ids].some((id) => text.includes(id));
  const processes = podProcesses(bridge).filter(({ containerId }) => ids.has(containerId));
  const namespaces = new Set(processes.map(({ pid }) => inodeOf(`/proc/${pid}/ns/net`)));
  const folder = join(dataDir, "containerd/state/io.containerd.grpc.v1.cri/netns");
  const leftNamespaces = namesIn(folder).filter(
    (name) => !namespaces.has(inodeOf(join(folder, name))),
  );
  const ipam = join(dataDir, "containerd/ipam", bridge);
  const addresses = namesIn(ipam).filter((name) => /^[0-9.]+$/.test(name));
  const owned = addresses.map((name) => `${name} of ${readText(join(ipam, name)).split("\n")[0]}`);
  const ports = namesIn(`/sys/class/net/${bridge}/brif`);
  const rules = execFileSync("iptables", ["-w", "-t", "nat", "-S"], { encoding: "utf8" })
    .split("\n")
    .filter((rule) => rule.includes(`name: \\"${bridge}\\"`));
  const results = namesIn("/var/lib/cni/results").filter((name) => name.startsWith(`${bridge}-`));
  return [
    ...leftNamespaces.map((name) => `network namespace ${name} is left`),
    ...owned.filter(isLeft).map((text) => `address ${text} is left`),
    ...rules.filter(isLeft).map((rule) => `rule ${rule} is left`),
    ...results.filter(isLeft).map((name) => `cached result ${name} is left`),
    ...(ports.length === addresses.length
      ? []
      : [`the bridge has ${ports.length} ports and ${addresses.length} addresses`]),
  ];
}

/** Records in containerd of which the CRI does not know. Unreferenced layers it collects itself, now and then. */
function leftInContainerd({ containerdSocket }: AgentWorld, { known }: Live): readonly string[] {
  const command = ["-a", containerdSocket, "-n", "k8s.io", "containers", "ls", "-q"];
  const ids = execFileSync("ctr", command, { encoding: "utf8", timeout: callTimeoutMs });
  return ids
    .split("\n")
    .filter((id) => id !== "" && !known.has(id))
    .map((id) => `record ${id} is left`);
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
