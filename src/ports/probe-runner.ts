import type { PodStatus, Probe } from "../model/generated/kubernetes.ts";
import type { ContainerId } from "../model/ids.ts";
import type { AnyContainer, Pod } from "../model/pod.ts";
import type { ProbeKind } from "../model/probe.ts";

export interface ProbeRequest {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly container: AnyContainer;
  readonly containerId: ContainerId;
}

export type ProbeOutcome =
  | {
      readonly result: "success" | "warning" | "failure" | "unknown";
      readonly output: string;
    }
  /** The probe itself did not work, which says nothing about the container. */
  | { readonly result: "error"; readonly state: "failure" | "unknown"; readonly output: string };

/** Looks into containers from outside. */
export interface ProbeRunner {
  /** Runs one probe within its own timeout. Rejects only when `signal` aborts. */
  run(request: ProbeRequest, signal: AbortSignal): Promise<ProbeOutcome>;
}
