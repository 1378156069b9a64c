import type { ImageFailure } from "../../core/image/image-pull.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ImageSpec, PodSandboxConfig } from "../../model/generated/cri.ts";
import type { AnyContainer, PlacedContainer, Pod } from "../../model/pod.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import type { StartDeps } from "./start-deps.ts";
import type { StepFailure } from "./step-report.ts";

/** How errors of a runtime begin that could not mount an image. */
const mountFailed = "ImageVolumeMountFailed";

interface ImageVolumesRequest {
  readonly pod: Pod;
  readonly placed: PlacedContainer;
  readonly sandboxConfig: PodSandboxConfig;
  readonly pullCredentials: PodCredentials;
}

/** The images that a container mounts, by volume name: on the machine, pulled if they must be. */
export async function readyImageVolumes(
  deps: StartDeps,
  { pod, placed, sandboxConfig, pullCredentials }: ImageVolumesRequest,
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<string, ImageSpec>, ImageFailure>> {
  const mounted = new Set((placed.container.volumeMounts ?? []).map(({ name }) => name));
  const ready = new Map<string, ImageSpec>();
  let failure: ImageFailure | undefined;
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined || !mounted.has(name)) continue;
    const { reference = "", pullPolicy = "IfNotPresent" } = image;
    const handler = deps.configs.runtimeHandler(pod);
    const annotations = pod.metadata.annotations ?? {};
    const found = await deps.images.ensureImage(
      {
        podUid: pod.metadata.uid,
        container: placed.container.name,
        image: reference,
        policy: pullPolicy,
        annotations,
        runtimeHandler: "",
        sandboxConfig,
        credentials: pullCredentials,
        onEvent: (event) => deps.events.record(pod, event),
      },
      signal,
    );
    if (!found.ok) {
      failure = found.error;
      continue;
    }
    ready.set(name, {
      image: found.value.imageRef,
      userSpecifiedImage: reference,
      runtimeHandler: handler.ok ? handler.value : "",
      annotations,
    });
  }
  return failure === undefined ? ok(ready) : err(failure);
}

/** Counts them once the container was started, or was not. */
export function countImageVolumes(
  metrics: Metrics,
  { volumeMounts = [] }: AnyContainer,
  volumes: ReadonlyMap<string, ImageSpec>,
  failure: StepFailure | undefined,
): void {
  if (volumes.size === 0) return;
  metrics.increment("kubelet_image_volume_requested_total", {}, volumes.size);
  const isMountFailure =
    failure?.code === "CreateContainerError" && failure.message.startsWith(mountFailed);
  const outcome = isMountFailure
    ? "kubelet_image_volume_mounted_errors_total"
    : "kubelet_image_volume_mounted_succeed_total";
  metrics.increment(outcome, {}, volumeMounts.filter(({ name }) => volumes.has(name)).length);
}
