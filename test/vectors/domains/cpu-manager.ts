import { type CpuManagerInput, runCpuManager } from "../cpu-manager-steps.ts";
import { explicitHints, withoutJsonErrors } from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

export const cpuManagerDomain: VectorDomain = vectorDomain<CpuManagerInput>(
  "cpu-manager",
  (input) => runCpuManager(input, false),
  (value) => withoutJsonErrors(explicitHints(value)),
);
