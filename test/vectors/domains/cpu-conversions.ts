import { milliCpuToQuota, milliCpuToShares } from "../../../src/core/resource/cpu.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface CpuConversionsInput {
  readonly milliCPU: number;
  readonly period: number;
}

export const cpuConversions: VectorDomain = vectorDomain<CpuConversionsInput>(
  "cpu-conversions",
  ({ milliCPU, period }) => ({
    shares: milliCpuToShares(milliCPU),
    quota: milliCpuToQuota(milliCPU, period),
  }),
);
