// Whether the API server lets a user do something on this node.
import { ExpiringCache } from "../../lib/expiring-cache.ts";
import { ApiError } from "../../model/api-error.ts";
import type {
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Authorizer, User } from "./check-access.ts";
import type { NodeAttributes } from "./request-attributes.ts";

export interface SubjectAccessOptions {
  readonly client: Pick<ApiClient, "send">;
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly nowMs: () => number;
  readonly metrics: Metrics | undefined;
}

const reviewTimeoutMs = 10_000;
const maxAnswers = 4096;
/** What is longer than this is asked for each time. */
const longestKey = 10_000;

export function createSubjectAccessAuthorizer(options: SubjectAccessOptions): Authorizer {
  const cache = new ExpiringCache<boolean>(options.nowMs, maxAnswers);
  return (user, attributes) => {
    const spec = reviewSpec(user, attributes);
    const key = JSON.stringify(spec);
    return cache.get(key, async () => {
      const value = await measured(options, () => ask(options.client, spec));
      const keepMs = value ? options.allowedMs : options.deniedMs;
      return { value, keepMs: key.length > longestKey ? 0 : keepMs };
    });
  };
}

async function measured(
  { metrics, nowMs }: SubjectAccessOptions,
  review: () => Promise<boolean>,
): Promise<boolean> {
  const startedMs = nowMs();
  let code = "201";
  try {
    return await review();
  } catch (error) {
    code = error instanceof ApiError ? String(error.status) : "<error>";
    throw error;
  } finally {
    const seconds = (nowMs() - startedMs) / 1000;
    metrics?.observe("apiserver_delegated_authz_request_duration_seconds", seconds, { code });
    metrics?.increment("apiserver_delegated_authz_request_total", { code });
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
  client: Pick<ApiClient, "send">,
  spec: SubjectAccessReviewSpec,
): Promise<boolean> {
  const { status } = await client.send<SubjectAccessReview>(
    {
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      body: {
        kind: "SubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        metadata: {},
        spec,
        status: { allowed: false },
      },
    },
    AbortSignal.timeout(reviewTimeoutMs),
  );
  return status?.allowed === true && status.denied !== true;
}
