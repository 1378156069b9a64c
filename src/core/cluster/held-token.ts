const longestUseMs = 24 * 60 * 60_000;
const longestJitterSeconds = 10;

/** A service account token as the API server issued it. */
export interface HeldToken {
  readonly token: string;
  readonly expiresAtMs: number;
  /** Undefined when the server did not say. */
  readonly lifetimeSeconds: number | undefined;
}

/**
 * Whether to renew it: after 80 % of its lifetime or a day; some seconds earlier by chance (`random`: from 0 to 1), so
 * that not all tokens are due at once.
 */
export function isTokenDue(held: HeldToken, nowMs: number, random: number): boolean {
  const { expiresAtMs, lifetimeSeconds } = held;
  if (lifetimeSeconds === undefined) return false;
  const jitterMs = Math.floor(random * longestJitterSeconds) * 1000;
  const issuedAtMs = expiresAtMs - lifetimeSeconds * 1000;
  const marginMs = Math.floor(lifetimeSeconds / 5) * 1000;
  return nowMs > issuedAtMs + longestUseMs - jitterMs || nowMs > expiresAtMs - marginMs - jitterMs;
}
