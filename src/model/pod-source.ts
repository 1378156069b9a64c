import type { Pod } from "./pod.ts";

/** Where a pod comes from, as its annotation says. */
export type PodSourceName = "file" | "http" | "api";

export const configSourceAnnotation = "kubernetes.io/config.source";
export const configSeenAnnotation = "kubernetes.io/config.seen";
export const configHashAnnotation = "kubernetes.io/config.hash";
export const configMirrorAnnotation = "kubernetes.io/config.mirror";

function podSource(pod: Pod): string | undefined {
  return pod.metadata.annotations?.[configSourceAnnotation];
}

/** A static pod comes from a file or URL: the API server does not own it. */
export function isStaticPod(pod: Pod): boolean {
  const source = podSource(pod);
  return source !== undefined && source !== "api";
}

/** A mirror pod represents a static pod in the API server; it is never run. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}
