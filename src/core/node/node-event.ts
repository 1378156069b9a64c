/** What happened to the node, for the cluster's events. */
export interface NodeEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** That the node has come into a state. */
export function nodeStatusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: "Normal", reason, message: `Node ${nodeName} status is now: ${reason}` };
}
