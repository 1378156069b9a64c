import { observedContainer } from "../../../src/core/observe/observed-container.ts";
import { formatTime } from "../../../src/lib/time.ts";
import type { ContainerStatus, Signal } from "../../../src/model/generated/cri.ts";
import type { ObservedContainer } from "../../../src/model/observed.ts";
import type { EncodedContainerStatus } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EncodedCriStatus
  extends Pick<
    ContainerStatus,
    "id" | "metadata" | "state" | "reason" | "message" | "labels" | "annotations"
  > {
  readonly created_at?: number;
  readonly started_at?: number;
  readonly finished_at?: number;
  readonly exit_code?: number;
  readonly image?: { readonly image?: string; readonly user_specified_image?: string };
  readonly image_ref?: string;
  readonly image_id?: string;
  readonly log_path?: string;
  readonly stop_signal?: Signal;
  readonly resources?: { readonly linux?: Readonly<Record<string, number>> };
  readonly user?: {
    readonly linux?: {
      readonly uid?: number;
      readonly gid?: number;
      readonly supplemental_groups?: readonly number[];
    };
  };
}

export const criContainerStatus: VectorDomain = vectorDomain<{ readonly status: EncodedCriStatus }>(
  "cri-container-status",
  ({ status }) => encode(observedContainer(decode(status), { runtimeName: "containerd" })),
);

function decode(status: EncodedCriStatus): ContainerStatus {
  const linux = status.resources?.linux;
  const user = status.user?.linux;
  return {
    id: status.id,
    metadata: status.metadata,
    state: status.state,
    createdAt: int64(status.created_at),
    startedAt: int64(status.started_at),
    finishedAt: int64(status.finished_at),
    exitCode: status.exit_code,
    image: status.image && {
      image: status.image.image,
      userSpecifiedImage: status.image.user_specified_image,
    },
    imageRef: status.image_ref,
    imageId: status.image_id,
    reason: status.reason,
    message: status.message,
    labels: status.labels,
    annotations: status.annotations,
    logPath: status.log_path,
    stopSignal: status.stop_signal,
    resources: status.resources && {
      linux: linux && {
        cpuPeriod: int64(linux["cpu_period"]),
        cpuQuota: int64(linux["cpu_quota"]),
        cpuShares: int64(linux["cpu_shares"]),
        memoryLimitInBytes: int64(linux["memory_limit_in_bytes"]),
      },
    },
    user: status.user && {
      linux: user && {
        uid: int64(user.uid),
        gid: int64(user.gid),
        supplementalGroups: user.supplemental_groups?.map(BigInt),
      },
    },
  };
}

function int64(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

function encode(container: ObservedContainer): Partial<EncodedContainerStatus> {
  const { createdAtMs, startedAtMs, finishedAtMs } = container;
  return {
    id: container.id,
    name: container.name,
    state: container.state,
    exitCode: container.exitCode,
    restartCount: container.restartCount,
    hash: container.hash,
    image: container.image,
    imageID: container.imageId,
    imageRef: container.imageRef,
    ...(createdAtMs === undefined ? {} : { createdAt: formatTime(createdAtMs) }),
    ...(startedAtMs === undefined ? {} : { startedAt: formatTime(startedAtMs) }),
    ...(finishedAtMs === undefined ? {} : { finishedAt: formatTime(finishedAtMs) }),
    ...(container.reason === "" ? {} : { reason: container.reason }),
    ...(container.message === "" ? {} : { message: container.message }),
    ...(container.resources === undefined ? {} : { resources: container.resources }),
    ...(container.user === undefined ? {} : { user: container.user }),
  };
}
