import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { TokenAttributes } from "../../core/image/token-attributes.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { ApiError } from "../../model/api-error.ts";
import type {
  ServiceAccountToken,
  ServiceAccountTokenRequest,
} from "../../model/service-account-token.ts";
import { AccountIdentities } from "./account-identities.ts";

const { signal } = new AbortController();
const attributes: TokenAttributes = {
  audience: "registry.io",
  cacheType: "Token",
  requiresAccount: true,
  requiredAnnotations: ["registry.io/role"],
  optionalAnnotations: ["team", "rank"],
};

function world(annotations: Readonly<Record<string, string>> = { "registry.io/role": "reader" }) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  api.intercept(({ path }) => {
    if (path !== "/api/v1/namespaces/default/serviceaccounts/builder") {
      throw new ApiError(404, "NotFound", "serviceaccounts not found");
    }
    return { metadata: { uid: "7", name: "builder", namespace: "default", annotations } };
  });
  const requests: ServiceAccountTokenRequest[] = [];
  const answer: { token: Result<ServiceAccountToken, string> } = {
    token: ok({ token: "t", expiresAtMs: 0 }),
  };
  const tokens = {
    request: async (request: ServiceAccountTokenRequest) => {
      requests.push(request);
      return answer.token;
    },
  };
  const identities = new AccountIdentities({ apiServer: { api }, cluster: { tokens }, clock });
  return { identities, requests, answer, clock };
}

const builder = testPod({ containers: [], serviceAccountName: "builder" }, { uid: "u" });
const nameless = testPod({ containers: [] }, { uid: "u" });

test("a provider gets a token for its audience that is bound to the pod, and the annotations that it wants", async () => {
  const annotations = { "registry.io/role": "reader", team: "a", secret: "canary" };
  const { identities, requests } = world(annotations);
  expect(await identities.askerOf(builder, attributes, signal)).toEqual(
    ok({
      kind: "account",
      identity: {
        account: { uid: "7", namespace: "default", name: "builder" },
        annotations: { "registry.io/role": "reader", team: "a" },
        token: "t",
      },
    }),
  );
  const { name, uid } = builder.metadata;
  expect(requests).toEqual([
    {
      namespace: "default",
      name: "builder",
      uid: "7",
      spec: {
        audiences: ["registry.io"],
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    },
  ]);
});

test("a pod without a service account is asked for without a token where the provider allows that", async () => {
  const { identities } = world();
  expect(await identities.askerOf(nameless, attributes, signal)).toEqual(
    ok({ kind: "not-asked", because: "the pod has no service account" }),
  );
  const lenient = { ...attributes, requiresAccount: false };
  expect(await identities.askerOf(nameless, lenient, signal)).toEqual(ok({ kind: "anyone" }));
});

test("a service account without an annotation that the provider requires gets no token", async () => {
  const { identities, requests } = world({ team: "a" });
  expect(await identities.askerOf(builder, attributes, signal)).toEqual(
    ok({ kind: "not-asked", because: "the service account has no annotation registry.io/role" }),
  );
  expect(requests).toEqual([]);
});

test("an error names what cannot be had", async () => {
  const { identities, answer, clock } = world();
  const gone = testPod({ containers: [], serviceAccountName: "gone" });
  expect(await identities.askerOf(gone, attributes, signal)).toMatchObject({
    error: expect.stringMatching(/^cannot read the service account: .*not found/),
  });
  answer.token = err("failed to fetch token: Forbidden");
  expect(await identities.askerOf(builder, attributes, signal)).toEqual(
    err("cannot get a token of the service account: failed to fetch token: Forbidden"),
  );
  const alone = new AccountIdentities({ clock });
  expect(await alone.askerOf(builder, attributes, signal)).toEqual(
    err("this node belongs to no cluster, which has the service accounts"),
  );
});
