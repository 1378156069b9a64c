import type { TokenRequestSpec } from "./generated/kubernetes.ts";
import type { PodUid } from "./ids.ts";

/** What to ask the cluster for: a token of a service account, bound to a pod. */
export interface ServiceAccountTokenRequest {
  readonly namespace: string;
  /** Of the service account. */
  readonly name: string;
  /** Of the service account: one of the same name that came in its place gets no token by this request. */
  readonly uid?: string | undefined;
  readonly spec: TokenRequestSpec & { readonly boundObjectRef: { readonly uid: PodUid } };
}

/** A token that the cluster issued. */
export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresAtMs: number;
}
