// /healthz: whether the agent works, as a whole and by check.
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { type KubeletExchange, sendPlain, sendRefusal } from "./answers.ts";

/** An agent that works answers at once; one that does not within this time stands still. */
const answerMs = 5_000;
/** Fails when the agent does not answer; the others when it answers that something is wrong. */
export const pingName = "ping";

interface HealthProblems {
  /** Why nothing is known of the agent. */
  readonly silence?: string | undefined;
  /** What a check found; undefined = nothing is wrong. */
  readonly of: (name: string) => string | undefined;
}

/** Asks the agent whether it is well; requests that come meanwhile share the answer. */
export class AgentHealth {
  readonly #agent: Pick<AgentCalls, "readHealth">;
  #asked: Promise<HealthProblems> | undefined;

  constructor(agent: Pick<AgentCalls, "readHealth">) {
    this.#agent = agent;
  }

  problems(): Promise<HealthProblems> {
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  async #ask(): Promise<HealthProblems> {
    const deadline = timeoutSignal(answerMs);
    try {
      const found = await this.#agent.readHealth(undefined, deadline);
      return { of: (name) => found[name] };
    } catch (error) {
      const silence = deadline.aborted
        ? `the agent did not answer within ${answerMs / 1000} s`
        : `the agent cannot say whether it works: ${errorText(error)}`;
      return { silence, of: () => silence };
    }
  }
}

/** The checks of one server, by name. */
export interface HealthChecks {
  readonly names: readonly string[];
  readonly agent: AgentHealth;
}

/** All checks in one answer. What a check of the agent found is shown only to those who ask for that check. */
export async function answerHealth(
  { names, agent }: HealthChecks,
  metrics: Pick<Metrics, "increment" | "set">,
  { query, response }: KubeletExchange,
): Promise<void> {
  const excluded = new Set(query.get("exclude") ?? []);
  const problems = await agent.problems();
  const lines: string[] = [];
  let failed = false;
  for (const name of names) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const isWell = problems.of(name) === undefined;
    failed ||= !isWell;
    const reason = (name === pingName ? problems.silence : undefined) ?? "reason withheld";
    lines.push(isWell ? `[+]${name} ok` : `[-]${name} failed: ${reason}`);
    const labels = { name, type: "healthz" };
    metrics.set("kubernetes_healthcheck", isWell ? 1 : 0, labels);
    const status = isWell ? "success" : "error";
    metrics.increment("kubernetes_healthchecks_total", { ...labels, status });
  }
  const unknown = [...excluded].filter((name) => !names.includes(name)).toSorted();
  if (unknown.length > 0) {
    const quoted = unknown.map(quoteText).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted}`);
  }
  if (failed) {
    sendRefusal(response, 500, [...lines, "healthz check failed"].join("\n"));
    return;
  }
  const text = query.has("verbose") ? `${lines.join("\n")}\nhealthz check passed\n` : "ok";
  sendPlain(response, 200, text, { "X-Content-Type-Options": "nosniff" });
}

/** One check by its path. */
export async function answerHealthCheck(
  { names, agent }: HealthChecks,
  { path, response }: KubeletExchange,
): Promise<void> {
  const problems = await agent.problems();
  const name = names.find((each) => path === `/healthz/${each}`);
  const problem = name === undefined ? undefined : problems.of(name);
  if (problem === undefined) sendPlain(response, 200, "ok");
  else sendRefusal(response, 500, `internal server error: ${problem}`);
}
