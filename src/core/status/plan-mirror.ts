import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { configHashAnnotation, configMirrorAnnotation } from "../../model/pod-source.ts";

export type MirrorStep =
  | { readonly kind: "none" }
  | { readonly kind: "delete"; readonly mirror: Pod; readonly because: string }
  | { readonly kind: "create"; readonly mirror: Pod };

/** What to do so that the API server shows the static pod as it is; no pod = it is gone. */
export function planMirror(
  pod: Pod | undefined,
  mirror: Pod | undefined,
  node: Node | undefined,
): MirrorStep {
  if (mirror !== undefined) {
    const because = mirrorFault(pod, mirror);
    return because === undefined ? { kind: "none" } : { kind: "delete", mirror, because };
  }
  // Without its node the API server would collect the mirror pod as orphaned.
  const { uid, name, deletionTimestamp } = node?.metadata ?? {};
  if (pod === undefined || uid === undefined || name === undefined) return { kind: "none" };
  if (deletionTimestamp !== undefined) return { kind: "none" };
  return { kind: "create", mirror: mirrorPod(pod, { uid, name }) };
}

function mirrorFault(pod: Pod | undefined, mirror: Pod): string | undefined {
  if (pod === undefined) return "its static pod is gone";
  if (mirror.metadata.deletionTimestamp !== undefined) return "it is being deleted";
  return isMirrorOf(mirror, pod) ? undefined : "it shows another version of its static pod";
}

/** Whether the API server's pod shows this very version of a static pod. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return hashOf(mirror, configMirrorAnnotation) === hashOf(pod, configHashAnnotation);
}

function hashOf({ metadata }: Pod, annotation: string): string | undefined {
  return metadata.annotations?.[annotation];
}

function mirrorPod(pod: Pod, { uid, name }: { readonly uid: string; readonly name: string }): Pod {
  const { metadata } = pod;
  const annotations = {
    ...metadata.annotations,
    [configMirrorAnnotation]: hashOf(pod, configHashAnnotation) ?? "",
  };
  const owner = { apiVersion: "v1", kind: "Node", name, uid, controller: true };
  return {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { ...metadata, annotations, ownerReferences: [owner] },
    spec: pod.spec,
    status: { phase: "Pending" },
  };
}
