import type { AgentClient } from "../cli/agent-client.ts";
import type { Pod } from "../model/pod.ts";
import type { NodePod } from "./api.ts";
import { BerthError } from "./berth-error.ts";
import { asked } from "./client-errors.ts";
import { forwardPort } from "./forward-port.ts";
import { followLog, readLog } from "./pod-logs.ts";
import { runInContainer } from "./run-in-container.ts";
import { type PodPlace, waitForPod } from "./wait-for-pod.ts";

export interface NodePodDeps {
  readonly client: AgentClient;
  readonly isSimulated: boolean;
  readonly nodeName: string;
  /** Takes the pod's manifest away. */
  readonly remove: (namespace: string, name: string) => Promise<void>;
}

const never = new AbortController().signal;

/** `name`: as in the pod's manifest. */
export function nodePod(deps: NodePodDeps, namespace: string, name: string): NodePod {
  const { client, isSimulated, nodeName } = deps;
  const place: PodPlace = { client, namespace, name: ownName(name, nodeName) };
  const read = (signal = never): Promise<Pod> => client.readPod(namespace, place.name, signal);
  const requireStreams = (what: string): void => {
    if (!isSimulated) return;
    const message = `${what}: simulated containers run nothing; use a node of kind "real"`;
    throw new BerthError("unsupported", message);
  };
  return {
    namespace,
    name,
    read: ({ signal } = {}) => asked(() => read(signal), signal),
    waitFor: async (condition, options = {}) => {
      const pod = await waitForPod(place, condition, options);
      if (pod !== undefined) return pod;
      // Only of a pod that was gone before there was anything to see.
      throw new BerthError("not-found", `there is no pod "${name}" in namespace ${namespace}`);
    },
    logs: (options = {}) => asked(() => readLog(place, options), options.signal),
    followLogs: (options = {}) => followLog(place, options),
    exec: async (command, options = {}) => {
      requireStreams("exec");
      return asked(() => runInContainer(place, command, options), options.signal);
    },
    forwardPort: async (podPort, options = {}) => {
      requireStreams("forwardPort");
      return asked(() => forwardPort(place, podPort, options), options.signal);
    },
    explain: ({ signal } = {}) =>
      asked(async () => client.explain((await read(signal)).metadata.uid, signal ?? never), signal),
    delete: async (options = {}) => {
      await deps.remove(namespace, name);
      await waitForPod(place, "gone", options);
    },
  };
}

/** What a node calls the pod that has this name in its manifest. */
export function ownName(name: string, nodeName: string): string {
  return `${name}${nodeNameEnd(nodeName)}`;
}

/** What the name of a pod on a node has at its end. */
export function nodeNameEnd(nodeName: string): string {
  return `-${nodeName.toLowerCase()}`;
}
