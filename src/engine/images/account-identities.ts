import {
  type AccountIdentity,
  pickAnnotations,
  type TokenAttributes,
} from "../../core/image/token-attributes.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ServiceAccount } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ServiceAccountTokens } from "../../ports/service-account-tokens.ts";
import { namespacedPath, readObject } from "../cluster/read-object.ts";

export interface AccountIdentitiesDeps {
  /** Undefined = the node belongs to no cluster. */
  readonly apiServer?: { readonly api: ApiClient } | undefined;
  readonly cluster?: { readonly tokens: ServiceAccountTokens } | undefined;
  readonly clock: Clock;
}

/** In whose name a credential provider is asked. */
export type Asker =
  | { readonly kind: "anyone" }
  | { readonly kind: "account"; readonly identity: AccountIdentity }
  /** The provider is not for this pod. */
  | { readonly kind: "not-asked"; readonly because: string };

/** Gets what credential providers want of the service accounts of pods: annotations, and a token bound to the pod. */
export class AccountIdentities {
  readonly #deps: AccountIdentitiesDeps;

  constructor(deps: AccountIdentitiesDeps) {
    this.#deps = deps;
  }

  /** The service account is read for each pull: who lost an annotation must not pull by it any more. */
  async askerOf(
    pod: Pod,
    attributes: TokenAttributes,
    signal: AbortSignal,
  ): Promise<Result<Asker, string>> {
    const name = pod.spec.serviceAccountName ?? "";
    if (name === "") {
      return ok(
        attributes.requiresAccount
          ? { kind: "not-asked", because: "the pod has no service account" }
          : { kind: "anyone" },
      );
    }
    const { apiServer, cluster, clock } = this.#deps;
    if (apiServer === undefined || cluster === undefined) {
      return err("this node belongs to no cluster, which has the service accounts");
    }
    const { namespace } = pod.metadata;
    const path = namespacedPath("serviceaccounts", { namespace, name });
    const found = await readObject<ServiceAccount>({ ...apiServer, clock }, path, signal);
    if (!found.ok) return err(`cannot read the service account: ${found.error.message}`);
    const { uid = "", annotations: all } = found.value.metadata ?? {};
    const annotations = pickAnnotations(attributes, all);
    if (!annotations.ok) {
      const because = `the service account has no annotation ${annotations.error}`;
      return ok({ kind: "not-asked", because });
    }
    const { name: podName, uid: podUid } = pod.metadata;
    const token = await cluster.tokens.request(
      {
        namespace,
        name,
        uid,
        spec: {
          audiences: [attributes.audience],
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name: podName, uid: podUid },
        },
      },
      signal,
    );
    if (!token.ok) return err(`cannot get a token of the service account: ${token.error}`);
    const account = { uid, namespace, name };
    return ok({
      kind: "account",
      identity: { account, annotations: annotations.value, token: token.value.token },
    });
  }
}
