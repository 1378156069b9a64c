import { containerHash as hashOf } from "../../../src/core/container/container-hash.ts";
import type { Container } from "../../../src/model/generated/kubernetes.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

export const containerHash: VectorDomain = vectorDomain<{ readonly container: Container }>(
  "container-hash",
  ({ container }) => ({ hash: hashOf(container) }),
);
