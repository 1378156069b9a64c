// `berth`: pods on a node that a program starts, on real or on simulated containers.

export type { Pod } from "../model/pod.ts";
export type { PodExplanation } from "../ports/agent-view.ts";
export { BerthError, type BerthErrorCode, PodWaitError } from "./berth-error.ts";
export { type BerthNode, createNode, type Decision, type StopOptions } from "./create-node.ts";
export type { ForwardOptions, PortForward } from "./forward-port.ts";
export type { Manifest, ManifestObject, ManifestPath, PodManifest } from "./manifest.ts";
export type { NodeOptions, RealNodeOptions, SimulatedNodeOptions } from "./node-options.ts";
export type { NodePod } from "./node-pod.ts";
export type { LogOptions } from "./pod-logs.ts";
export type { ExecOptions, ExecResult } from "./run-in-container.ts";
export type { PodCondition, WaitOptions } from "./wait-for-pod.ts";
