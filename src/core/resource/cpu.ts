// Conversions between CPU amounts and what the kernel's scheduler takes.

export const minShares = 2;
const maxShares = 262_144;
const sharesPerCpu = 1024;
const milliPerCpu = 1000;
const minQuotaUs = 1000;

/** The relative weight of a CPU request, inside the kernel's bounds. */
export function milliCpuToShares(milliCpu: number): number {
  const shares = Math.trunc((milliCpu * sharesPerCpu) / milliPerCpu);
  return Math.min(Math.max(shares, minShares), maxShares);
}

/** The CPU time per period that a limit allows; 0 for no limit. */
export function milliCpuToQuota(milliCpu: number, periodUs: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(Math.trunc((milliCpu * periodUs) / milliPerCpu), minQuotaUs);
}

export function sharesToMilliCpu(shares: number): number {
  return shares < minShares ? 0 : Math.ceil((shares * milliPerCpu) / sharesPerCpu);
}

/** The limit that a quota stands for; 0 where there is none (-1). */
export function quotaToMilliCpu(quotaUs: number, periodUs: number): number {
  return quotaUs === -1 ? 0 : Math.trunc((quotaUs * milliPerCpu) / periodUs);
}
