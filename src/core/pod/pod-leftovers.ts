/** All that can keep the agent from forgetting a pod. */
export interface LeftoverFacts {
  /** A source wants it. */
  readonly isWanted: boolean;
  /** Undefined = it has no worker. */
  readonly workerState: string | undefined;
  /** The runtime has something of it, or lists it and has not described it yet. */
  readonly isInRuntime: boolean;
  /** A read of it from the runtime is in progress. */
  readonly isBeingRead: boolean;
  /** The API server has yet to get its status, or to answer. */
  readonly isBeingReported: boolean;
  /** Where the removal of what it left stands; undefined = it has not begun. */
  readonly removal: "due" | "running" | "done" | undefined;
  /** Files of the agent's own memory: its status checkpoint, records and ephemeral containers. */
  readonly hasFiles: boolean;
  /** Something of a volume may be mounted for it. */
  readonly mayHaveMounts: boolean;
}

/** Why the agent has to remember the pod; none = nothing of it is left anywhere, and it may be forgotten. */
export function whatIsLeft(facts: LeftoverFacts): readonly string[] {
  const reasons: string[] = [];
  if (facts.isWanted) reasons.push("a source wants it");
  if (facts.workerState !== undefined) reasons.push(`its worker is ${facts.workerState}`);
  if (facts.isInRuntime) reasons.push("the runtime has it");
  if (facts.isBeingRead) reasons.push("it is being read from the runtime");
  if (facts.isBeingReported) reasons.push("its status is being reported");
  if (facts.removal !== "done") reasons.push(removalReasons[facts.removal ?? "not begun"]);
  if (facts.hasFiles) reasons.push("the agent keeps files about it");
  if (facts.mayHaveMounts) reasons.push("a volume may be mounted for it");
  return reasons;
}

const removalReasons = {
  "not begun": "what it left is not removed yet",
  due: "what it left is not removed yet",
  running: "what it left is being removed",
};
