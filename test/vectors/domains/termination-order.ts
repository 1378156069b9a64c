import { terminationOrder as orderOf } from "../../../src/core/termination/termination-order.ts";
import { isSidecar, type Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly running: readonly string[] | null;
}

export const terminationOrder: VectorDomain = vectorDomain<Input>(
  "termination-order",
  ({ pod, running }) => ({
    usesOrdering: (pod.spec.initContainers ?? []).some(isSidecar),
    waitsFor: Object.fromEntries(orderOf(pod, running ?? [])),
  }),
);
