import type { AgentClient } from "../cli/agent-client.ts";
import { readPod } from "../cli/pod-argument.ts";
import type { Pod } from "../model/pod.ts";
import type { PodExplanation } from "../ports/agent-view.ts";
import { BerthError } from "./berth-error.ts";
import { asked } from "./client-errors.ts";
import { type ForwardOptions, forwardPort, type PortForward } from "./forward-port.ts";
import { followLog, type LogOptions, readLog } from "./pod-logs.ts";
import { type ExecOptions, type ExecResult, runInContainer } from "./run-in-container.ts";
import { type PodCondition, type PodPlace, type WaitOptions, waitForPod } from "./wait-for-pod.ts";

interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A pod of a node by its name. It need not be there yet: only calls that need it fail then. */
export interface NodePod {
  readonly namespace: string;
  /** As in its manifest; the pod's own name ends with that of the node. */
  readonly name: string;
  /** The pod with its status. */
  read(options?: CallOptions): Promise<Pod>;
  /** Resolves to the pod when it is as wanted. Rejects with a PodWaitError that says what the pod waits for. */
  waitFor(condition: PodCondition, options?: WaitOptions): Promise<Pod>;
  /** What a container has written so far. */
  logs(options?: LogOptions): Promise<string>;
  /** Its lines, also those that are still to come, until the container has ended. */
  followLogs(options?: LogOptions): AsyncIterable<string>;
  /** Runs a command in a container. An exit code other than 0 does not reject. */
  exec(command: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Opens a local port that leads to one of the pod, also where only the pod itself could reach it. */
  forwardPort(podPort: number, options?: ForwardOptions): Promise<PortForward>;
  /** What `berth why` shows: what is wanted, was seen, decided and is awaited. */
  explain(options?: CallOptions): Promise<PodExplanation>;
  /** Takes the pod from the node; resolves when nothing of it is left. */
  delete(options?: WaitOptions): Promise<void>;
}

export interface NodePodDeps {
  readonly client: AgentClient;
  readonly isSimulated: boolean;
  /** Takes the pod's manifest away. */
  readonly remove: (namespace: string, name: string) => Promise<void>;
}

const never = new AbortController().signal;

export function nodePod(deps: NodePodDeps, namespace: string, name: string): NodePod {
  const { client, isSimulated } = deps;
  const place: PodPlace = { client, namespace, name };
  const read = (signal = never): Promise<Pod> => readPod(client, namespace, name, signal);
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
