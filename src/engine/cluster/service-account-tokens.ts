import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseTime } from "../../lib/time.ts";
import type { TokenRequest } from "../../model/generated/kubernetes.ts";
import type { ServiceAccountTokenRequest } from "../../model/service-account-token.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ServiceAccountTokens } from "../../ports/service-account-tokens.ts";
import { withDeadline } from "../execute/deadline.ts";

const longestUseMs = 24 * 60 * 60_000;
const longestJitterSeconds = 10;
/** How long a pod that has a token waits for its next one. */
const renewalMs = 10_000;

export interface ApiServiceAccountTokensDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly log: Log;
}

interface HeldToken {
  readonly token: string;
  readonly expiresAtMs: number;
  /** For how long it was given; undefined when the server did not say. */
  readonly lifetimeSeconds: number | undefined;
  readonly podUid: string | undefined;
}

/** Asks the API server for tokens, keeps them, and renews each in time; one that is still valid outlives an outage. */
export class ApiServiceAccountTokens implements ServiceAccountTokens {
  readonly #deps: ApiServiceAccountTokensDeps;
  readonly #held = new Map<string, HeldToken>();

  constructor(deps: ApiServiceAccountTokensDeps) {
    this.#deps = deps;
  }

  async request(
    request: ServiceAccountTokenRequest,
    signal: AbortSignal,
  ): Promise<Result<string, string>> {
    const key = tokenKey(request);
    const held = this.#held.get(key);
    if (held !== undefined && !this.#isDue(held)) return ok(held.token);
    const { clock, log } = this.#deps;
    try {
      const fetched = await this.#ask(request, held !== undefined, signal);
      this.#held.set(key, fetched);
      return ok(fetched.token);
    } catch (error) {
      signal.throwIfAborted();
      const message = errorText(error);
      if (held === undefined) return err(`failed to fetch token: ${message}`);
      if (clock.nowMs() > held.expiresAtMs) {
        return err(`token ${key} expired and refresh failed: ${message}`);
      }
      log.warn("could not renew a service account token", { token: key, error: message });
      return ok(held.token);
    }
  }

  /** Forgets the tokens of a pod that is gone. */
  release(podUid: string): void {
    for (const [key, held] of this.#held) if (held.podUid === podUid) this.#held.delete(key);
  }

  async #ask(
    { namespace, name, spec }: ServiceAccountTokenRequest,
    isRenewal: boolean,
    signal: AbortSignal,
  ): Promise<HeldToken> {
    const { api, clock } = this.#deps;
    const account = `${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
    const send = (until: AbortSignal): Promise<TokenRequest> =>
      api.send({ method: "POST", path: `/api/v1/namespaces/${account}/token`, body }, until);
    const limit = { ms: renewalMs, what: "the renewal" };
    const answer = isRenewal ? await withDeadline(clock, limit, signal, send) : await send(signal);
    const { token = "", expirationTimestamp = "" } = answer.status ?? {};
    return {
      token,
      expiresAtMs: parseTime(expirationTimestamp) ?? 0,
      lifetimeSeconds: answer.spec?.expirationSeconds,
      podUid: spec.boundObjectRef?.uid,
    };
  }

  /** After 80 % of its lifetime or a day; some seconds earlier by chance, so that not all are due at once. */
  #isDue({ expiresAtMs, lifetimeSeconds }: HeldToken): boolean {
    if (lifetimeSeconds === undefined) return false;
    const { clock, random } = this.#deps;
    const nowMs = clock.nowMs();
    const jitterMs = Math.floor(random() * longestJitterSeconds) * 1000;
    const issuedAtMs = expiresAtMs - lifetimeSeconds * 1000;
    const marginMs = Math.floor(lifetimeSeconds / 5) * 1000;
    return (
      nowMs > issuedAtMs + longestUseMs - jitterMs || nowMs > expiresAtMs - marginMs - jitterMs
    );
  }
}

/** Shown in messages; nothing in it is secret. */
function tokenKey({ namespace, name, spec }: ServiceAccountTokenRequest): string {
  const { audiences, expirationSeconds = 0, boundObjectRef: ref = {} } = spec;
  const quoted = (text: string | undefined): string => quoteText(text ?? "");
  const audienceText =
    audiences === undefined ? "[]string(nil)" : `[]string{${audiences.map(quoted).join(", ")}}`;
  const refText = `v1.BoundObjectReference{Kind:${quoted(ref.kind)}, APIVersion:${quoted(ref.apiVersion)}, Name:${quoted(ref.name)}, UID:${quoted(ref.uid)}}`;
  return `${quoted(name)}/${quoted(namespace)}/${audienceText}/${expirationSeconds}/${refText}/""`;
}
