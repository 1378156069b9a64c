import { podPhase } from "../../../src/core/status/phase.ts";
import type { ContainerStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly containerStatuses: readonly ContainerStatus[] | null;
  readonly podIsTerminal: boolean;
  readonly podHasInitialized: boolean;
}

export const getPhase: VectorDomain = vectorDomain<Input>("get-phase", (input) => ({
  phase: podPhase(input.pod, withoutNulls(input.containerStatuses) ?? [], {
    isTerminal: input.podIsTerminal,
    hasInitialized: input.podHasInitialized,
  }),
}));
