// Whether the API server lets a user do something on this node.
import { ExpiringCache } from "../../lib/expiring-cache.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import { ApiError } from "../../model/api-error.ts";
import type { SubjectAccessReviewSpec } from "../../model/generated/kubernetes.ts";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Authorizer, User } from "./check-access.ts";
import type { NodeAttributes } from "./request-attributes.ts";

export interface SubjectAccessOptions {
  readonly agent: Pick<AgentCalls, "reviewAccess">;
  readonly allowedMs: number;
  readonly deniedMs: number;
  /** Never set back or forward, as the wall clock is: an answer must not count for longer than it may. */
  readonly monotonicMs: () => number;
  readonly metrics: Pick<Metrics, "increment" | "observe">;
}

const reviewTimeoutMs = 10_000;
const maxAnswers = 4096;
/** What is longer than this is asked for each time. */
const longestKey = 10_000;

export function createSubjectAccessAuthorizer(options: SubjectAccessOptions): Authorizer {
  const cache = new ExpiringCache<boolean>(options.monotonicMs, maxAnswers);
  return (user, attributes) => {
    const spec = reviewSpec(user, attributes);
    const key = JSON.stringify(spec);
    return cache.get(key, async () => {
      const value = await measured(options, () => ask(options.agent, spec));
      const keepMs = value ? options.allowedMs : options.deniedMs;
      return { value, keepMs: key.length > longestKey ? 0 : keepMs };
    });
  };
}

async function measured(
  { metrics, monotonicMs }: SubjectAccessOptions,
  review: () => Promise<boolean>,
): Promise<boolean> {
  const startedMs = monotonicMs();
  let code = "201";
  try {
    return await review();
  } catch (error) {
    code = error instanceof ApiError ? String(error.status) : "<error>";
    throw error;
  } finally {
    const seconds = (monotonicMs() - startedMs) / 1000;
    metrics.observe("apiserver_delegated_authz_request_duration_seconds", seconds, { code });
    metrics.increment("apiserver_delegated_authz_request_total", { code });
  }
}

function reviewSpec(
  { name: user, uid, groups, extra }: User,
  { verb, subresource, name }: NodeAttributes,
): SubjectAccessReviewSpec {
  return {
    resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name },
    user,
    groups,
    ...(extra === undefined ? {} : { extra }),
    ...(uid === undefined || uid === "" ? {} : { uid }),
  };
}

async function ask(
  agent: Pick<AgentCalls, "reviewAccess">,
  spec: SubjectAccessReviewSpec,
): Promise<boolean> {
  const status = await agent.reviewAccess(spec, timeoutSignal(reviewTimeoutMs));
  return status.allowed && status.denied !== true;
}
