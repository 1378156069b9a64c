// Tokens that a client shows, and who the API server says it is.
import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ExpiringCache } from "../../lib/expiring-cache.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { User } from "./check-access.ts";
import { isWebSocket } from "./container-call.ts";
import { ReviewGate } from "./review-gate.ts";

const protocolPrefix = "base64url.bearer.authorization.k8s.io.";
const reviewTimeoutMs = 10_000;
/** A token that was just made may not be known everywhere yet. */
const longestRefusalMs = 10_000;
const maxTokens = 4096;
/** Tokens that strangers make up have a place of their own, and push out none that counts. */
const maxRefusals = 1024;

/** The token of a request; undefined when there is none. Throws when it is malformed. */
export function readToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const [scheme = "", token = ""] = (headers.authorization ?? "").trim().split(" ", 2);
  if (scheme.toLowerCase() === "bearer" && token !== "") return token;
  return isWebSocket(headers) ? protocolToken(headers["sec-websocket-protocol"] ?? "") : undefined;
}

/** A browser cannot set headers: its WebSocket sends the token as a protocol beside the one that it wants. */
function protocolToken(header: string): string | undefined {
  const protocols = header.split(",").map((protocol) => protocol.trim());
  const tokens = protocols.filter((protocol) => protocol.startsWith(protocolPrefix));
  const [only] = tokens;
  if (only === undefined) return undefined;
  if (tokens.length > 1) throw new Error("several tokens among the protocols");
  const encoded = only.slice(protocolPrefix.length);
  if (!/^[A-Za-z0-9_-]*$/.test(encoded))
    throw new Error("a token among the protocols is not base64url");
  if (protocols.length === 1) throw new Error("missing additional subprotocol");
  const token = Buffer.from(encoded, "base64url").toString("utf8");
  return token === "" ? undefined : token;
}

export interface TokenReviewOptions {
  readonly agent: Pick<AgentCalls, "reviewToken">;
  readonly cacheMs: number;
  /** Never set back or forward, as the wall clock is: a token must not count for longer than it may. */
  readonly monotonicMs: () => number;
}

/** Asks the API server who shows a token; undefined = not authenticated. */
export class TokenReviewer {
  readonly #options: TokenReviewOptions;
  readonly #known: ExpiringCache<User | undefined>;
  readonly #refused: ExpiringCache<User | undefined>;
  readonly #gate: ReviewGate;
  /** Tokens are not kept, only what cannot be turned back into them. */
  readonly #secret = randomBytes(32);

  constructor(options: TokenReviewOptions) {
    const { monotonicMs } = options;
    this.#options = options;
    this.#known = new ExpiringCache(monotonicMs, maxTokens);
    this.#refused = new ExpiringCache(monotonicMs, maxRefusals);
    this.#gate = new ReviewGate(monotonicMs);
  }

  /** Rejects with TooManyReviews when `address`, or all together, show too many tokens. */
  review(token: string, address: string): Promise<User | undefined> {
    const { cacheMs } = this.#options;
    const key = createHmac("sha256", this.#secret).update(token).digest("base64");
    return this.#known.get(key, async () => {
      const user = await this.#refused.get(key, async () => {
        const value = await this.#ask(token, address);
        return { value, keepMs: value === undefined ? Math.min(cacheMs, longestRefusalMs) : 0 };
      });
      return { value: user, keepMs: user === undefined ? 0 : cacheMs };
    });
  }

  async #ask(token: string, address: string): Promise<User | undefined> {
    const deadline = timeoutSignal(reviewTimeoutMs);
    const ask = () => this.#options.agent.reviewToken({ token }, deadline);
    const review = await this.#gate.run(address, ask, deadline);
    const { authenticated = false, user, error = "" } = review;
    if (authenticated) {
      const { username = "", uid, groups = [], extra } = user ?? {};
      return { name: username, uid, groups, extra };
    }
    if (error !== "") throw new Error(error);
    return undefined;
  }
}
