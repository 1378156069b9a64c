import { podActionsDomain } from "../pod-actions.ts";
import type { VectorDomain } from "../vector-domain.ts";

export const computePodActionsResize: VectorDomain = podActionsDomain("compute-pod-actions-resize");
