// Asks the server that the page came from, and no other.
import { parseJsonText } from "../../src/lib/json-text.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import { sleep } from "../lib/sleep.ts";
import { type Failure, failureOf, unreachable } from "./failure.ts";
import { readLines } from "./read-lines.ts";

const keyName = "berth-key";
const firstDelayMs = 500;
const longestDelayMs = 8_000;

export type WatchEvent<T> =
  /** All there is: replaces what was known. */
  | { readonly kind: "listed"; readonly items: readonly T[] }
  | {
      readonly kind: "changed";
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: T;
    }
  /** Nothing more is learned for now; it is tried again, unless the user has to log in. */
  | { readonly kind: "broken"; readonly failure: Failure };

interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

interface WatchLine<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

export class ApiClient {
  readonly #onLoggedOut: (message: string) => void;

  /** `onLoggedOut` is called for each answer that asks for a login. */
  constructor(onLoggedOut: (message: string) => void) {
    this.#onLoggedOut = onLoggedOut;
  }

  /** Half of what the session is known by: the other is a cookie. Undefined = not logged in. */
  get key(): string | undefined {
    return localStorage.getItem(keyName) ?? undefined;
  }

  async login(code: string, signal: AbortSignal): Promise<Result<undefined, Failure>> {
    const body = JSON.stringify({ code });
    const answer = await this.#send("/ui/login", { method: "POST", body, signal });
    if (!answer.ok) return answer;
    const { key } = parseJsonText(await answer.value.text()) as { readonly key: string };
    localStorage.setItem(keyName, key);
    return ok(undefined);
  }

  /** The object at a path of web/README.md. Rejects only when `signal` aborts. */
  async get<T>(path: string, signal: AbortSignal): Promise<Result<T, Failure>> {
    const answer = await this.open(path, signal);
    if (!answer.ok) return answer;
    try {
      return ok(parseJsonText(await answer.value.text()) as T);
    } catch {
      signal.throwIfAborted();
      return err(unreachable);
    }
  }

  /** The answer as it comes, such as a log that is followed: its body may end early. Rejects only when `signal` aborts. */
  async open(path: string, signal: AbortSignal): Promise<Result<Response, Failure>> {
    const { key } = this;
    if (key === undefined) return err(this.#loggedOut("run `berth ui` on the node to log in"));
    const answer = await this.#send(path, { headers: { [keyName]: key }, signal });
    return !answer.ok && answer.error.kind === "logged-out"
      ? err(this.#loggedOut(answer.error.message))
      : answer;
  }

  /** Lists the objects at a path and follows them; after a break they are listed again. Ends when `signal` aborts or a login is needed. */
  async *watch<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>, void> {
    let delayMs = firstDelayMs;
    while (!signal.aborted) {
      let failure: Failure = unreachable;
      try {
        for await (const event of this.#watchOnce<T>(path, signal)) {
          if (event.kind === "broken") failure = event.failure;
          else {
            delayMs = firstDelayMs;
            yield event;
          }
        }
      } catch {
        // The connection broke, or the line is not one of the agent's.
      }
      if (signal.aborted) return;
      yield { kind: "broken", failure };
      if (failure.kind === "logged-out") return;
      await sleep(delayMs, signal);
      delayMs = Math.min(2 * delayMs, longestDelayMs);
    }
  }

  async *#watchOnce<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>, void> {
    const list = await this.get<ObjectList<T>>(path, signal);
    if (!list.ok) {
      yield { kind: "broken", failure: list.error };
      return;
    }
    const { items, metadata } = list.value;
    yield { kind: "listed", items };
    const query = new URLSearchParams({ watch: "true", resourceVersion: metadata.resourceVersion });
    const answer = await this.open(`${path}${path.includes("?") ? "&" : "?"}${query}`, signal);
    if (!answer.ok) {
      yield { kind: "broken", failure: answer.error };
      return;
    }
    for await (const line of readLines(answer.value)) {
      const { type, object } = parseJsonText(line) as WatchLine<T>;
      yield { kind: "changed", type, object };
    }
  }

  /** The page forgets the key: it is of no use any more. */
  #loggedOut(message: string): Failure {
    localStorage.removeItem(keyName);
    this.#onLoggedOut(message);
    return { kind: "logged-out", message };
  }

  async #send(
    path: string,
    options: RequestInit & { readonly signal: AbortSignal },
  ): Promise<Result<Response, Failure>> {
    try {
      const response = await fetch(path, {
        ...options,
        credentials: "same-origin",
        cache: "no-store",
        redirect: "error",
      });
      return response.ok ? ok(response) : err(await failureOf(response));
    } catch {
      options.signal.throwIfAborted();
      return err(unreachable);
    }
  }
}
