import { text } from "node:stream/consumers";
import type { Container, PodSpec } from "../../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { podManifest, shell } from "./agent-manifests.ts";
import { waitForPod } from "./agent-watch.ts";
import type { AgentWorld } from "./agent-world.ts";

interface InsideOptions {
  readonly spec?: Partial<PodSpec>;
  /** Of the container. */
  readonly main?: Partial<Container>;
}

/** What the container "main" of a pod printed, run to its end with a spec of its own. */
export async function printedInside(
  world: AgentWorld,
  name: string,
  script: string,
  { spec = {}, main = {} }: InsideOptions = {},
): Promise<string> {
  const containers = [shell("main", script, main)];
  world.write(`${name}.json`, podManifest(name, { restartPolicy: "Never", containers, ...spec }));
  const pod = await waitForPod(world.client, world.podName(name), hasEnded);
  const printed = await logOf(world, pod);
  world.remove(`${name}.json`);
  return printed;
}

/** The pod as soon as it has a final phase. */
export function waitForEnd(world: AgentWorld, name: string): Promise<Pod> {
  return waitForPod(world.client, world.podName(name), hasEnded);
}

/** What a container has printed so far. */
async function logOf(world: AgentWorld, pod: Pod, container = "main"): Promise<string> {
  const signal = AbortSignal.timeout(60_000);
  return text(await world.client.openLog(pod, { container }, signal));
}

/** What a command in a container of a running pod prints. */
export async function runInside(
  world: AgentWorld,
  pod: Pod,
  command: readonly string[],
  container = "main",
): Promise<string> {
  const ids = await world.containerIds(pod.metadata.uid);
  const signal = AbortSignal.timeout(60_000);
  const { stdout, stderr } = await world.runtime.execSync(
    runtimeContainerId(ids[container] ?? ""),
    command,
    60,
    signal,
  );
  return `${Buffer.from(stdout ?? []).toString()}${Buffer.from(stderr ?? []).toString()}`;
}

/** The container waits for that reason. */
export function waitsFor(reason: string, container = "main"): (pod: Pod) => boolean {
  return ({ status }) =>
    (status?.containerStatuses ?? []).some(
      ({ name, state }) => name === container && state?.waiting?.reason === reason,
    );
}

/** Why the container waits. */
export function waitingMessage({ status }: Pod, container = "main"): string {
  const found = (status?.containerStatuses ?? []).find(({ name }) => name === container);
  return found?.state?.waiting?.message ?? "";
}

/** The messages of the pod's events of one reason. */
export async function eventMessages(
  world: AgentWorld,
  pod: Pod,
  reason: string,
): Promise<readonly string[]> {
  const events = await world.client.listEvents(pod, AbortSignal.timeout(60_000));
  return events.filter((event) => event.reason === reason).map(({ message }) => message ?? "");
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
