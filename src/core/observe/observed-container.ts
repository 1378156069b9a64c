import {
  ContainerState,
  type ContainerStatus,
  type ContainerUser,
  type Mount,
} from "../../model/generated/cri.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { containerId } from "../../model/ids.ts";
import {
  containerHashAnnotation,
  containerNameLabel,
  containerRestartCountAnnotation,
} from "../../model/labels.ts";
import type {
  ObservedContainer,
  ObservedContainerState,
  ObservedMount,
  ObservedUser,
} from "../../model/observed.ts";
import { stopSignalName } from "../cri/stop-signal.ts";
import { observedResources } from "./observed-resources.ts";

export interface ContainerContext {
  /** As it stands in container ids: "containerd". */
  readonly runtimeName: string;
  readonly sandboxId?: string | undefined;
  /** What an exited container left as its last words, or the reason why they could not be read. */
  readonly terminationMessage?: string | undefined;
  /** What the agent last gave the container: it fills in what the runtime does not report. */
  readonly actuated?: ResourceRequirements | undefined;
  /** The feature ContainerStopSignals. */
  readonly hasStopSignals?: boolean | undefined;
}

/** The runtime's status of a container, with what the labels and annotations remember of its creation. */
export function observedContainer(
  status: ContainerStatus,
  { runtimeName, sandboxId, terminationMessage, actuated, hasStopSignals }: ContainerContext,
): ObservedContainer {
  const state = containerState(status.state);
  const annotations = status.annotations ?? {};
  const imageRef = status.imageRef ?? "";
  return {
    id: containerId(`${runtimeName}://${status.id ?? ""}`),
    name: status.labels?.[containerNameLabel] ?? "",
    state,
    createdAtMs: timeMs(status.createdAt),
    startedAtMs: state === "created" ? undefined : timeMs(status.startedAt),
    image: status.image?.image ?? "",
    // Runtimes before CRI v1.30 report only the reference.
    imageId: status.imageId || imageRef,
    imageRef,
    imageRuntimeHandler: status.image?.runtimeHandler || undefined,
    hash: parseHash(annotations[containerHashAnnotation]),
    restartCount: parseCount(annotations[containerRestartCountAnnotation]),
    resources: observedResources(status.resources?.linux, actuated),
    user: status.user && observedUser(status.user),
    stopSignal: hasStopSignals === true ? stopSignalName(status.stopSignal) : undefined,
    mounts: status.mounts?.map(observedMount),
    sandboxId,
    ...endOf(status, state, terminationMessage),
  };
}

function endOf(
  status: ContainerStatus,
  state: ObservedContainerState,
  terminationMessage = "",
): Pick<ObservedContainer, "exitCode" | "finishedAtMs" | "reason" | "message"> {
  if (state !== "exited") return { exitCode: 0, reason: "", message: "" };
  return {
    exitCode: status.exitCode ?? 0,
    finishedAtMs: timeMs(status.finishedAt),
    reason: status.reason ?? "",
    message: [status.message ?? "", terminationMessage].filter((text) => text !== "").join(": "),
  };
}

function containerState(state: ContainerState | undefined): ObservedContainerState {
  switch (state) {
    case undefined:
    case ContainerState.CONTAINER_CREATED:
      return "created";
    case ContainerState.CONTAINER_RUNNING:
      return "running";
    case ContainerState.CONTAINER_EXITED:
      return "exited";
    default:
      return "unknown";
  }
}

/** An absent time is the CRI's 0: 1970. */
function timeMs(nanoseconds: bigint | undefined): number {
  return Number(nanoseconds ?? 0n) / 1e6;
}

/** Old containers lack the annotation; "0" matches no spec. */
function parseHash(text: string | undefined): string {
  if (text === undefined || !/^[\da-f]+$/i.test(text)) return "0";
  const hash = BigInt(`0x${text}`);
  return BigInt.asUintN(64, hash) === hash ? hash.toString(16) : "0";
}

function parseCount(text: string | undefined): number {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return 0;
  const count = Number(text);
  return Number.isSafeInteger(count) ? count : 0;
}

function observedUser({ linux }: ContainerUser): ObservedUser {
  return {
    linux: linux && {
      uid: Number(linux.uid ?? 0n),
      gid: Number(linux.gid ?? 0n),
      supplementalGroups: (linux.supplementalGroups ?? []).map(Number),
    },
  };
}

function observedMount(mount: Mount): ObservedMount {
  return {
    containerPath: mount.containerPath ?? "",
    hostPath: mount.hostPath ?? "",
    readOnly: mount.readonly ?? false,
    recursiveReadOnly: mount.recursiveReadOnly ?? false,
    image: mount.image?.image,
  };
}
