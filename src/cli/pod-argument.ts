import type { Pod } from "../model/pod.ts";
import type { AgentClient } from "./agent-client.ts";
import { CliError, exitCodes, usageError } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

const podKinds = new Set(["pod", "pods", "po"]);

/** "web" or "pod/web"; any other kind is refused. */
function podName(argument: string): string {
  const slash = argument.indexOf("/");
  if (slash < 0) return argument;
  requirePods(argument.slice(0, slash));
  return argument.slice(slash + 1);
}

/** The one POD argument of a command. */
export function onlyPod(positionals: readonly string[], usage: string): string {
  const [pod, surplus] = positionals;
  if (pod === undefined) throw usageError(`the name of a pod is missing: berth ${usage}`);
  if (surplus !== undefined) throw usageError(`unexpected argument "${surplus}": berth ${usage}`);
  return podName(pod);
}

/** "pods web db", "pod web" or "pod/web" to names; none means all. */
export function podNames(positionals: readonly string[], usage: string): readonly string[] {
  const [kind, ...names] = positionals;
  if (kind === undefined) throw usageError(`say what to show: berth ${usage}`);
  if (kind.includes("/")) return positionals.map(podName);
  if (!podKinds.has(kind) && names.length === 0) {
    const [command = ""] = usage.split(" ");
    const hint = `for a pod of that name: berth ${command} pod ${kind}`;
    throw usageError(`berth knows pods only, not "${kind}"; ${hint}`);
  }
  requirePods(kind);
  return names.map(podName);
}

function requirePods(kind: string): void {
  if (podKinds.has(kind)) return;
  throw usageError(`berth knows pods only, not "${kind}"`);
}

/**
 * Reads a pod by its name, or by the name in its manifest: a static pod's own name ends with its node's.
 * When it is only in another namespace, the error says so.
 */
export async function readPod(
  client: AgentClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Pod> {
  try {
    return await client.readPod(namespace, name, signal);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.notFound) throw error;
    const { items } = await client.listPods(undefined, {}, signal);
    const named = items.filter((pod) => isNamed(pod, name));
    const found = named.find(({ metadata }) => metadata.namespace === namespace);
    if (found !== undefined) return found;
    const elsewhere = named[0]?.metadata.namespace;
    const hint =
      elsewhere === undefined
        ? ""
        : `; there is one in namespace ${elsewhere}: add -n ${elsewhere}`;
    throw new CliError(
      `there is no pod "${name}" in namespace ${namespace}${hint}`,
      exitCodes.notFound,
    );
  }
}

/** By its own name, or by that in its manifest. */
function isNamed({ metadata, spec }: Pod, name: string): boolean {
  return metadata.name === name || metadata.name === `${name}-${spec.nodeName?.toLowerCase()}`;
}

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

/** The named container, else the pod's default one, else its first, with a note that there are others. */
export function chooseContainer(
  pod: Pod,
  wanted: string | undefined,
  terminal: Pick<Terminal, "note">,
): string {
  const names = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []),
    ...(pod.spec.ephemeralContainers ?? []),
  ].map(({ name }) => name);
  if (wanted !== undefined) {
    if (names.includes(wanted)) return wanted;
    throw new CliError(
      `pod "${pod.metadata.name}" has no container "${wanted}"; it has: ${names.join(", ")}`,
      exitCodes.notFound,
    );
  }
  const marked = pod.metadata.annotations?.[defaultContainerAnnotation];
  if (marked !== undefined && names.includes(marked)) return marked;
  const first = names[0] ?? "";
  if (names.length > 1) {
    terminal.note(`Defaulted container "${first}" out of: ${names.join(", ")}`);
  }
  return first;
}
