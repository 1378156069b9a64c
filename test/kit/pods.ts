// The pods of tests: plain ones, ones that can be started, and running ones.

import type { PodSpec, PodStatus } from "../../src/model/generated/kubernetes.ts";
import { podUid } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";

/** Metadata of which a UID is any text. */
type Metadata = Partial<Omit<Pod["metadata"], "uid">> & { readonly uid?: string };

interface PodParts {
  readonly metadata?: Metadata;
  readonly spec?: Partial<PodSpec>;
  readonly status?: PodStatus | undefined;
}

/** A pod "web" in "default" without containers, where nothing else is given. */
export function buildPod({ metadata = {}, spec = {}, ...rest }: PodParts = {}): Pod {
  const { uid = "uid-1" } = metadata;
  return {
    metadata: { name: "web", namespace: "default", ...metadata, uid: podUid(uid) },
    spec: { containers: [], ...spec },
    ...rest,
  };
}

/** A pod with what a spec must have to be started: a security context, a grace period, images. */
export function testPod(
  spec: Pick<PodSpec, "containers"> & Partial<PodSpec>,
  metadata: Metadata = {},
): Pod {
  const withImage = <T extends { readonly image?: string | undefined }>(one: T): T => ({
    image: "example.com/app:1",
    ...one,
  });
  return buildPod({
    metadata,
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      ...spec,
      initContainers: (spec.initContainers ?? []).map(withImage),
      containers: spec.containers.map(withImage),
    },
  });
}

/** A running pod with one ready container named "main". */
export function runningPod(name: string, changes: Metadata = {}): Pod {
  const startedAt = "2026-01-01T00:00:00Z";
  return buildPod({
    metadata: { name, uid: `uid-${name}`, creationTimestamp: startedAt, ...changes },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "example.test/app:1" }] },
    status: {
      phase: "Running",
      podIP: "10.88.0.2",
      podIPs: [{ ip: "10.88.0.2" }],
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [
        {
          name: "main",
          image: "example.test/app:1",
          imageID: "sha256:1",
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt } },
        },
      ],
    },
  });
}
