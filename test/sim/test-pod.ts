import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";

/** A pod "web" with what a spec must have filled in: a security context, a grace period, images. */
export function testPod(spec: Pick<PodSpec, "containers"> & Partial<PodSpec>): Pod {
  const withImage = <T extends { readonly image?: string | undefined }>(one: T): T => ({
    image: "example.com/app:1",
    ...one,
  });
  return {
    metadata: { name: "web", namespace: "default", uid: "uid-1" },
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      ...spec,
      initContainers: (spec.initContainers ?? []).map(withImage),
      containers: spec.containers.map(withImage),
    },
  };
}
