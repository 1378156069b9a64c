import { type HeldToken, isTokenDue } from "../../core/cluster/held-token.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseTime } from "../../lib/time.ts";
import type { TokenRequest } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type {
  ServiceAccountToken,
  ServiceAccountTokenRequest,
} from "../../model/service-account-token.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ServiceAccountTokens } from "../../ports/service-account-tokens.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";

/** How long a pod that has a token waits for its next one. */
const renewalMs = 10_000;

export interface ApiServiceAccountTokensDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly table: PodTable;
}

/** Asks the API server for tokens, keeps them, and renews each in time; one that is still valid outlives an outage. */
export class ApiServiceAccountTokens implements ServiceAccountTokens {
  readonly #deps: ApiServiceAccountTokensDeps;
  readonly #tokens: SliceWriter<"tokens">;

  constructor(deps: ApiServiceAccountTokensDeps) {
    this.#deps = deps;
    this.#tokens = deps.table.writer("tokens");
  }

  async request(
    request: ServiceAccountTokenRequest,
    signal: AbortSignal,
  ): Promise<Result<ServiceAccountToken, string>> {
    const key = tokenKey(request);
    const { clock, random, log, table } = this.#deps;
    const { uid } = request.spec.boundObjectRef;
    const held = this.#tokens.get(uid)?.get(key);
    if (held !== undefined && !isTokenDue(held, clock.nowMs(), random())) return ok(held);
    try {
      const fetched = await this.#ask(request, held !== undefined, signal);
      // The pod may have gone meanwhile: a token does not bring its entry back.
      if (table.get(uid) !== undefined) {
        this.#tokens.set(uid, new Map(this.#tokens.get(uid)).set(key, fetched));
      }
      return ok(fetched);
    } catch (error) {
      signal.throwIfAborted();
      const message = errorText(error);
      if (held === undefined) return err(`failed to fetch token: ${message}`);
      if (clock.nowMs() > held.expiresAtMs) {
        return err(`token ${key} expired and refresh failed: ${message}`);
      }
      log.warn("cannot renew a service account token", { token: key, error: message });
      return ok(held);
    }
  }

  /** Forgets the tokens of a pod that is gone. */
  release(podUid: PodUid): void {
    this.#tokens.set(podUid, undefined);
  }

  async #ask(
    { namespace, name, uid, spec }: ServiceAccountTokenRequest,
    isRenewal: boolean,
    signal: AbortSignal,
  ): Promise<HeldToken> {
    const { api, clock } = this.#deps;
    const account = `${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`;
    const metadata = uid === undefined ? undefined : { uid };
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata, spec };
    const send = (until: AbortSignal): Promise<TokenRequest> =>
      api.send({ method: "POST", path: `/api/v1/namespaces/${account}/token`, body }, until);
    const limit = { ms: renewalMs, what: "the renewal" };
    const answer = isRenewal ? await withDeadline(clock, limit, signal, send) : await send(signal);
    const { token = "", expirationTimestamp = "" } = answer.status ?? {};
    return {
      token,
      expiresAtMs: parseTime(expirationTimestamp) ?? 0,
      lifetimeSeconds: answer.spec?.expirationSeconds,
    };
  }
}

/** Shown in messages; nothing in it is secret. */
function tokenKey({ namespace, name, uid, spec }: ServiceAccountTokenRequest): string {
  const { audiences, expirationSeconds = 0, boundObjectRef: ref } = spec;
  const quoted = (text: string | undefined): string => quoteText(text ?? "");
  const audienceText =
    audiences === undefined ? "[]string(nil)" : `[]string{${audiences.map(quoted).join(", ")}}`;
  const refText = `v1.BoundObjectReference{Kind:${quoted(ref.kind)}, APIVersion:${quoted(ref.apiVersion)}, Name:${quoted(ref.name)}, UID:${quoted(ref.uid)}}`;
  return `${quoted(name)}/${quoted(namespace)}/${audienceText}/${expirationSeconds}/${refText}/${quoted(uid)}`;
}
