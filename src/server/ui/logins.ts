// Who may see the page. A code, which only root can ask for, is exchanged once for a session: a cookie that scripts cannot read,
// and a key that is not sent to other ports of the machine as cookies are. Only digests of either are kept, in memory.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { startTimer } from "../../lib/timers.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { codeLifetimeMs } from "./ui-settings.ts";

const sessionLifetimeMs = 12 * 3_600_000;
const maxCodes = 16;
const maxSessions = 64;
/** Wrong codes: so many a second, and so many at once. */
const wrongPerSecond = 1;
const maxWrong = 10;
const secretBytes = 32;

export interface Session {
  readonly keyDigest: Buffer;
  /** Aborts when the session ends. */
  readonly ended: AbortSignal;
  readonly end: () => void;
}

/** What a browser shows from now on. */
export interface NewSession {
  readonly cookie: string;
  readonly key: string;
  readonly lifetimeMs: number;
}

export type LoginRefusal = "wrong-code" | "too-many";

/** A secret that cannot be guessed, in letters that any header takes. */
export function newSecret(): string {
  return randomBytes(secretBytes).toString("base64url");
}

export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export class Logins {
  /** By digest, the moment until which it may be used; the oldest first. */
  readonly #codes = new Map<string, number>();
  /** By the cookie's digest; the oldest first. */
  readonly #sessions = new Map<string, Session>();
  readonly #wrong = new TokenBucket(wrongPerSecond, maxWrong);
  readonly #nowMs: () => number;

  /** `nowMs` never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  allow(codeDigest: string): void {
    this.#codes.set(codeDigest, this.#nowMs() + codeLifetimeMs);
    forgetOldest(this.#codes, maxCodes);
  }

  /** A right code is taken however many wrong ones came before it. */
  logIn(code: string): NewSession | LoginRefusal {
    const nowMs = this.#nowMs();
    const digest = digestOf(code);
    const untilMs = this.#codes.get(digest) ?? 0;
    this.#codes.delete(digest);
    if (nowMs < untilMs) return this.#open();
    return this.#wrong.tryTake(nowMs) ? "wrong-code" : "too-many";
  }

  find(cookie: string, key: string): Session | undefined {
    const session = this.#sessions.get(digestOf(cookie));
    if (session === undefined) return undefined;
    const given = createHash("sha256").update(key).digest();
    return timingSafeEqual(given, session.keyDigest) ? session : undefined;
  }

  #open(): NewSession {
    const cookie = newSecret();
    const key = newSecret();
    const digest = digestOf(cookie);
    const over = new AbortController();
    const timer = startTimer(sessionLifetimeMs, () => end(), { keepsAlive: false });
    const end = (): void => {
      timer.stop();
      this.#sessions.delete(digest);
      over.abort();
    };
    const keyDigest = createHash("sha256").update(key).digest();
    this.#sessions.set(digest, { keyDigest, ended: over.signal, end });
    const [oldest] = this.#sessions.values();
    if (this.#sessions.size > maxSessions) oldest?.end();
    return { cookie, key, lifetimeMs: sessionLifetimeMs };
  }
}
