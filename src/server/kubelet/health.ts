// /healthz: whether the agent works, as a whole and by check.
import { quoteText } from "../../lib/go-text.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { type KubeletExchange, sendPlain, sendRefusal } from "./answers.ts";

/** Answers what is wrong; undefined = nothing. */
export interface HealthCheck {
  readonly name: string;
  readonly problem: () => string | undefined;
}

export const pingCheck: HealthCheck = { name: "ping", problem: () => undefined };

/** All checks in one answer. What is wrong with one is told only to those who ask for it. */
export function answerHealth(
  checks: readonly HealthCheck[],
  metrics: Metrics | undefined,
  { query, response }: KubeletExchange,
): void {
  const excluded = new Set(query.get("exclude") ?? []);
  const known = new Set(checks.map(({ name }) => name));
  const lines: string[] = [];
  let failed = false;
  for (const { name, problem } of checks) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const isWell = problem() === undefined;
    failed ||= !isWell;
    lines.push(isWell ? `[+]${name} ok` : `[-]${name} failed: reason withheld`);
    const labels = { name, type: "healthz" };
    metrics?.set("kubernetes_healthcheck", isWell ? 1 : 0, labels);
    const status = isWell ? "success" : "error";
    metrics?.increment("kubernetes_healthchecks_total", { ...labels, status });
  }
  const unknown = [...excluded].filter((name) => !known.has(name)).toSorted();
  if (unknown.length > 0) {
    const names = unknown.map(quoteText).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed) {
    sendRefusal(response, 500, [...lines, "healthz check failed"].join("\n"));
    return;
  }
  const text = query.has("verbose") ? `${lines.join("\n")}\nhealthz check passed\n` : "ok";
  sendPlain(response, 200, text, { "X-Content-Type-Options": "nosniff" });
}

/** One check by its path. */
export function answerHealthCheck(
  checks: readonly HealthCheck[],
  { path, response }: KubeletExchange,
): void {
  const check = checks.find(({ name }) => path === `/healthz/${name}`);
  const problem = check?.problem();
  if (problem === undefined) sendPlain(response, 200, "ok");
  else sendRefusal(response, 500, `internal server error: ${problem}`);
}
