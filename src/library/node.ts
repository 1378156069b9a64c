// `berth`: pods on a node that a program starts, on real or on simulated containers.

export type { Pod } from "../model/pod.ts";
export type { PodExplanation } from "../ports/agent-view.ts";
export type {
  BerthNode,
  Decision,
  ExecOptions,
  ExecResult,
  ForwardOptions,
  ListOptions,
  LogOptions,
  NodePod,
  PodCondition,
  PortForward,
  StopOptions,
  WaitOptions,
} from "./api.ts";
export { BerthError, type BerthErrorCode, PodWaitError } from "./berth-error.ts";
export { createNode } from "./create-node.ts";
export type { Manifest, ManifestObject, ManifestPath, PodManifest } from "./manifest-types.ts";
export type { NodeOptions, RealNodeOptions, SimulatedNodeOptions } from "./node-options.ts";
