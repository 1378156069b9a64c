import type { ObjectMeta, PodSpec } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";
import type { ContainerKillReason } from "../pod/step.ts";

/** What less time would make of a stop: a SIGKILL before the process could answer the SIGTERM. */
const minimumGraceSeconds = 2;

/** The parts of a pod that set its grace period; they are also stored on its containers. */
interface PodGrace {
  readonly metadata: Pick<ObjectMeta, "deletionGracePeriodSeconds">;
  readonly spec: Pick<PodSpec, "terminationGracePeriodSeconds">;
}

/** How long a container may take to end when it is killed for that reason. */
export function terminationGraceSeconds(
  { metadata, spec }: PodGrace,
  container: AnyContainer,
  reason: ContainerKillReason,
): number {
  if (metadata.deletionGracePeriodSeconds !== undefined) return metadata.deletionGracePeriodSeconds;
  if (spec.terminationGracePeriodSeconds === undefined) return minimumGraceSeconds;
  return probeGraceSeconds(container, reason) ?? spec.terminationGracePeriodSeconds;
}

/** The timeout that the runtime gets for a stop, of the grace period that is left by then. */
export function stopTimeoutSeconds(graceSeconds: number): number {
  return Math.max(graceSeconds, minimumGraceSeconds);
}

function probeGraceSeconds(
  container: AnyContainer,
  reason: ContainerKillReason,
): number | undefined {
  if (reason === "StartupProbe") return container.startupProbe?.terminationGracePeriodSeconds;
  if (reason === "LivenessProbe") return container.livenessProbe?.terminationGracePeriodSeconds;
  return undefined;
}
