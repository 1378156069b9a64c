import { joinedErrors } from "../../lib/joined-errors.ts";
import type { NodeCondition } from "../../model/generated/kubernetes.ts";
import { type NodeEvent, nodeStatusEvent } from "./node-event.ts";

/** What the conditions of a node are made of. */
export interface NodeHealth {
  readonly memoryPressure: boolean;
  readonly diskPressure: boolean;
  readonly pidPressure: boolean;
  /** Why the node is not ready: of the runtime, the network, storage and a shutdown, in this order. */
  readonly problems: readonly string[];
  /** What the node lacks without being unready for it; empty for nothing. */
  readonly softProblem: string;
}

export interface NodeConditionsInput {
  readonly nodeName: string;
  readonly previous: readonly NodeCondition[];
  readonly health: NodeHealth;
  readonly capacity: Readonly<Record<string, string>> | undefined;
  readonly localStorageCapacityIsolation: boolean;
  /** As the API writes times. */
  readonly now: string;
}

export interface NodeConditionsResult {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly NodeEvent[];
}

interface PressureWords {
  readonly type: string;
  readonly under: PressureState;
  readonly relieved: PressureState;
}

interface PressureState {
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}

const memoryPressure: PressureWords = {
  type: "MemoryPressure",
  under: {
    reason: "KubeletHasInsufficientMemory",
    message: "kubelet has insufficient memory available",
    event: "NodeHasInsufficientMemory",
  },
  relieved: {
    reason: "KubeletHasSufficientMemory",
    message: "kubelet has sufficient memory available",
    event: "NodeHasSufficientMemory",
  },
};
const diskPressure: PressureWords = {
  type: "DiskPressure",
  under: {
    reason: "KubeletHasDiskPressure",
    message: "kubelet has disk pressure",
    event: "NodeHasDiskPressure",
  },
  relieved: {
    reason: "KubeletHasNoDiskPressure",
    message: "kubelet has no disk pressure",
    event: "NodeHasNoDiskPressure",
  },
};
const pidPressure: PressureWords = {
  type: "PIDPressure",
  under: {
    reason: "KubeletHasInsufficientPID",
    message: "kubelet has insufficient PID available",
    event: "NodeHasInsufficientPID",
  },
  relieved: {
    reason: "KubeletHasSufficientPID",
    message: "kubelet has sufficient PID available",
    event: "NodeHasSufficientPID",
  },
};

/** The node's conditions now, and the events for those that changed; conditions of other owners stay as they are. */
export function nodeConditions(input: NodeConditionsInput): NodeConditionsResult {
  const { health } = input;
  const conditions = [...input.previous];
  const reasons = [
    setPressure(conditions, memoryPressure, health.memoryPressure, input.now),
    setPressure(conditions, diskPressure, health.diskPressure, input.now),
    setPressure(conditions, pidPressure, health.pidPressure, input.now),
    setReady(conditions, input),
  ];
  const events = reasons
    .filter((reason) => reason !== undefined)
    .map((reason) => nodeStatusEvent(input.nodeName, reason));
  return { conditions, events };
}

/** Returns the reason of the event to record; undefined when the condition is unchanged. */
function setPressure(
  conditions: NodeCondition[],
  words: PressureWords,
  isUnder: boolean,
  now: string,
): string | undefined {
  const index = conditions.findLastIndex(({ type }) => type === words.type);
  const previous = conditions[index];
  const status = isUnder ? "True" : "False";
  const { reason, message, event } = isUnder ? words.under : words.relieved;
  const isChanged = previous?.status !== status;
  const condition: NodeCondition =
    previous === undefined || isChanged
      ? {
          ...previous,
          type: words.type,
          status,
          reason,
          message,
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        }
      : { ...previous, lastHeartbeatTime: now };
  place(conditions, index, condition);
  return isChanged ? event : undefined;
}

function setReady(conditions: NodeCondition[], input: NodeConditionsInput): string | undefined {
  const { now } = input;
  const problems = readyProblems(input);
  const isReady = problems.length === 0;
  const status = isReady ? "True" : "False";
  const message = isReady ? "kubelet is posting ready status" : joinedErrors(problems);
  const { softProblem } = input.health;
  const index = conditions.findIndex(({ type }) => type === "Ready");
  const previous = conditions[index];
  const isChanged = previous !== undefined && previous.status !== status;
  place(conditions, index, {
    type: "Ready",
    status,
    reason: isReady ? "KubeletReady" : "KubeletNotReady",
    message: softProblem === "" ? message : `${message}. WARNING: ${softProblem}`,
    lastHeartbeatTime: now,
    lastTransitionTime: previous === undefined || isChanged ? now : previous.lastTransitionTime,
  });
  if (!isChanged) return undefined;
  return isReady ? "NodeReady" : "NodeNotReady";
}

function readyProblems(input: NodeConditionsInput): readonly string[] {
  const required = [
    "cpu",
    "memory",
    "pods",
    ...(input.localStorageCapacityIsolation ? ["ephemeral-storage"] : []),
  ];
  const missing = required.filter((name) => input.capacity?.[name] === undefined);
  return [
    ...input.health.problems,
    ...(missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(", ")}`]),
  ];
}

function place(conditions: NodeCondition[], index: number, condition: NodeCondition): void {
  if (index < 0) conditions.push(condition);
  else conditions[index] = condition;
}
