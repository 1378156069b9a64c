import { expect, test } from "vitest";
import { isTokenDue } from "./held-token.ts";

const issuedAtMs = 1_000_000;

test.each([
  { lifetimeSeconds: 3600, ageSeconds: 2880, random: 0, isDue: false },
  { lifetimeSeconds: 3600, ageSeconds: 2881, random: 0, isDue: true },
  { lifetimeSeconds: 3600, ageSeconds: 2872, random: 0.99, isDue: true },
  { lifetimeSeconds: 31_536_000, ageSeconds: 86_400, random: 0, isDue: false },
  { lifetimeSeconds: 31_536_000, ageSeconds: 86_401, random: 0, isDue: true },
])("a token for $lifetimeSeconds s is due after $ageSeconds s: $isDue", (example) => {
  const { lifetimeSeconds, ageSeconds, random, isDue } = example;
  const expiresAtMs = issuedAtMs + lifetimeSeconds * 1000;
  const nowMs = issuedAtMs + ageSeconds * 1000;
  expect(isTokenDue({ token: "t", expiresAtMs, lifetimeSeconds }, nowMs, random)).toBe(isDue);
});

test("a token of unknown lifetime is never due", () => {
  const held = { token: "t", expiresAtMs: 0, lifetimeSeconds: undefined };
  expect(isTokenDue(held, issuedAtMs, 0)).toBe(false);
});
