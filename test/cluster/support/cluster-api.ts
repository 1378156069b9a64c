import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import type { CertificateFiles } from "./certificates.ts";

/** Whatever the API server holds. */
export interface ApiObject {
  readonly metadata?: { readonly uid?: string | undefined } | undefined;
}

interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

interface WatchChange<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** What the API server refused. */
class ApiRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal: AbortSignal;
}

const callTimeoutMs = 60_000;
const retryMs = 200;

/** An administrator's client of the test's API server; not Berth's own, which is under test. */
export class ClusterApi {
  readonly #server: string;
  readonly #agent: Agent;

  constructor(server: string, authority: string, { certificate, key }: CertificateFiles) {
    this.#server = server;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(authority),
      cert: readFileSync(certificate),
      key: readFileSync(key),
    });
  }

  get<T>(path: string): Promise<T> {
    return this.#send("GET", path);
  }

  async list<T>(collection: string): Promise<readonly T[]> {
    return (await this.get<ObjectList<T>>(collection)).items;
  }

  create<T extends object>(collection: string, object: T): Promise<T> {
    return this.#send("POST", collection, object);
  }

  replace<T extends object>(path: string, object: T): Promise<T> {
    return this.#send("PUT", path, object);
  }

  patch<T>(path: string, patch: object): Promise<T> {
    return this.#send("PATCH", path, patch, "application/strategic-merge-patch+json");
  }

  async delete(path: string, options: object = {}): Promise<void> {
    await this.#send("DELETE", path, options);
  }

  /** Resolves once the answer to a health path is ok. */
  async untilHealthy(path: string, timeoutMs: number): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    while (!(await this.#isHealthy(path))) {
      if (signal.aborted) throw new Error(`the API server's ${path} is not ok in ${timeoutMs} ms`);
      await delay(retryMs / 2);
    }
  }

  /** The objects of a collection as soon as they are as wanted, through any outage; rejects with what they are last. */
  async until<T extends ApiObject>(
    collection: string,
    isReached: (items: readonly T[]) => boolean,
    timeoutMs = 60_000,
  ): Promise<readonly T[]> {
    const signal = AbortSignal.timeout(timeoutMs);
    let last: readonly T[] = [];
    for (;;) {
      try {
        for await (const items of this.states<T>(collection, signal)) {
          last = items;
          if (isReached(items)) return items;
        }
      } catch (error) {
        if (!signal.aborted && error instanceof ApiRefusal && error.code !== 410) throw error;
      }
      if (signal.aborted) {
        const text = JSON.stringify(last, withoutNoise, 1);
        throw new Error(`${collection} is not as wanted after ${timeoutMs} ms: ${text}`);
      }
      await delay(retryMs);
    }
  }

  /** What a collection holds, now and after every change; ends with the connection. */
  async *states<T extends ApiObject>(
    collection: string,
    signal: AbortSignal,
  ): AsyncGenerator<readonly T[]> {
    const list = await this.#json<ObjectList<T>>({ method: "GET", path: collection, signal });
    const objects = new Map(list.items.map((item) => [item.metadata?.uid, item]));
    yield [...objects.values()];
    const join = collection.includes("?") ? "&" : "?";
    const path = `${collection}${join}watch=1&resourceVersion=${list.metadata.resourceVersion}`;
    for await (const { type, object } of this.#watch<T>(path, signal)) {
      if (type === "ERROR") return;
      if (type === "DELETED") objects.delete(object.metadata?.uid);
      else objects.set(object.metadata?.uid, object);
      yield [...objects.values()];
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async *#watch<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchChange<T>> {
    const response = await this.#open({ method: "GET", path, signal });
    let text = "";
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as WatchChange<T>;
    }
  }

  #send<T>(method: string, path: string, body?: unknown, contentType?: string): Promise<T> {
    const signal = AbortSignal.timeout(callTimeoutMs);
    return this.#json({ method, path, body, ...(contentType && { contentType }), signal });
  }

  async #isHealthy(path: string): Promise<boolean> {
    const signal = AbortSignal.timeout(2_000);
    try {
      const response = await this.#open({ method: "GET", path, signal });
      response.resume();
      return response.statusCode === 200;
    } catch {
      return false;
    }
  }

  async #json<T>(call: Call): Promise<T> {
    const response = await this.#open(call);
    const text = Buffer.concat(await response.toArray()).toString();
    const code = response.statusCode ?? 0;
    if (code >= 300) throw new ApiRefusal(code, `${call.method} ${call.path}: ${code} ${text}`);
    return JSON.parse(text) as T;
  }

  #open({ method, path, body, contentType, signal }: Call): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const data = Buffer.from(body === undefined ? "" : JSON.stringify(body));
      const headers = {
        "content-type": contentType ?? "application/json",
        "content-length": data.length,
      };
      const call = request(
        this.#server + path,
        { method, agent: this.#agent, headers, signal },
        resolve,
      );
      call.once("error", reject);
      call.end(data);
    });
  }
}

function withoutNoise(key: string, value: unknown): unknown {
  return key === "managedFields" ? undefined : value;
}
