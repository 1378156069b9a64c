import { type CpuManagerInput, runCpuManager } from "../cpu-manager-steps.ts";
import { explicitHints, withoutJsonErrors } from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

export const cpuManagerAlphaDomain: VectorDomain = vectorDomain<CpuManagerInput>(
  "cpu-manager-alpha",
  (input) => runCpuManager(input, true),
  (value) => withoutJsonErrors(explicitHints(value)),
);
