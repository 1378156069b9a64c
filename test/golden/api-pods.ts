import { formatTime } from "../../src/lib/time.ts";
import type {
  ConfigMap,
  Container,
  ResourceRequirements,
  Secret,
  Volume,
} from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { PodSource, SourceSink } from "../../src/ports/pod-source.ts";
import type { Json, RecordedPod } from "./recording.ts";
import { strategicMerge } from "./strategic-merge.ts";

/** Plays the API server's part: the node's pods as a kubelet would watch them there. */
export class ApiPods implements PodSource {
  readonly name = "api" as const;
  readonly #pods = new Map<string, Pod>();
  readonly #configMaps: ConfigMap[] = [];
  readonly #secrets: Secret[] = [];
  #deliver: () => void = () => undefined;

  run({ deliver }: SourceSink, signal: AbortSignal): Promise<void> {
    this.#deliver = () =>
      deliver({
        pods: [...this.#pods.values()],
        configMaps: [...this.#configMaps],
        secrets: [...this.#secrets],
        problems: [],
        ignored: [],
      });
    this.#deliver();
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  create(pod: Pod): void {
    this.#pods.set(pod.metadata.uid, pod);
    this.#deliver();
  }

  addConfigMap(configMap: ConfigMap): void {
    this.#configMaps.push(configMap);
    this.#deliver();
  }

  addSecret(secret: Secret): void {
    this.#secrets.push(secret);
    this.#deliver();
  }

  /** Asks for the pod's end: the API server only marks it. */
  markDeleted(uid: string, graceSeconds: number, nowMs: number): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: formatTime(nowMs + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    };
    this.#pods.set(uid, { ...pod, metadata });
    this.#deliver();
  }

  patch(uid: string, patch: Json): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    const patched = strategicMerge(pod as unknown as Json, patch) as unknown as Pod;
    const generation = (pod.metadata.generation ?? 1) + 1;
    this.#pods.set(uid, { ...patched, metadata: { ...patched.metadata, generation } });
    this.#deliver();
  }

  find(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#deliver();
  }
}

/**
 * A pod as the API server had it right after its creation, but for the service account's token: as it was `shown`
 * at its end, with what was `sent` where that changed meanwhile.
 */
export function createdPod(shown: RecordedPod, sent: RecordedPod): Pod {
  const { name, namespace = "", uid = "", annotations, creationTimestamp } = shown.metadata;
  const { spec } = shown;
  const isToken = (volume: string): boolean => volume.startsWith("kube-api-access-");
  const created = (container: Container): Container => ({
    ...container,
    image: sentContainer(sent, container.name)?.image ?? container.image,
    resources: createdResources(
      container.resources,
      sentContainer(sent, container.name)?.resources,
    ),
    volumeMounts: container.volumeMounts?.filter((mount) => !isToken(mount.name)),
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid,
      labels: sent.metadata.labels,
      annotations,
      creationTimestamp,
    },
    spec: {
      ...spec,
      resources: createdResources(spec.resources, sent.spec.resources),
      volumes: spec.volumes?.filter((volume) => !isToken(volume.name)).map(withoutTokens),
      initContainers: spec.initContainers?.map(created),
      containers: spec.containers.map(created),
      ephemeralContainers: undefined,
    },
    status: { phase: "Pending" },
  };
}

/** Tokens come from an API server; the rest of a projection does not need one. */
function withoutTokens(volume: Volume): Volume {
  if (volume.projected === undefined) return volume;
  const sources = volume.projected.sources?.filter(
    ({ serviceAccountToken }) => serviceAccountToken === undefined,
  );
  return { ...volume, projected: { ...volume.projected, sources } };
}

function sentContainer({ spec }: RecordedPod, container: string): Container | undefined {
  return [...spec.containers, ...(spec.initContainers ?? [])].find(
    ({ name }) => name === container,
  );
}

/** A resize changed what was sent; what the API server added stayed. */
function createdResources(
  shown: ResourceRequirements | undefined,
  sent: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (shown === undefined || sent === undefined) return shown;
  return {
    ...shown,
    requests: shown.requests && { ...shown.requests, ...sent.requests },
    limits: shown.limits && { ...shown.limits, ...sent.limits },
  };
}
