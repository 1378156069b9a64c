import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ApiError } from "../../model/api-error.ts";
import type { ConfigMap } from "../../model/generated/kubernetes.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiClient, ApiRequest } from "../../ports/api-client.ts";
import { Reflector } from "./reflector.ts";

interface OpenWatch {
  readonly query: Readonly<Record<string, string>>;
  readonly emit: (event: WatchEvent<ConfigMap>) => void;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

/** A collection with a history that can be cut, forgotten and taken away. */
class Collection implements ApiClient {
  readonly requests: Pick<ApiRequest, "path" | "query">[] = [];
  readonly open = new Set<OpenWatch>();
  readonly #objects = new Map<string, ConfigMap>();
  readonly #history: { readonly version: number; readonly event: WatchEvent<ConfigMap> }[] = [];
  #version = 10;
  #oldest = 0;
  isAway = false;
  canStream = true;
  /** Whether lists say as of which version they are. */
  hasVersions = true;
  /** Sends each change twice. */
  isStuttering = false;

  set(name: string, value: string): void {
    this.#version += 1;
    const type = this.#objects.has(name) ? "MODIFIED" : "ADDED";
    const object = this.#object(name, value);
    this.#objects.set(name, object);
    this.#announce({ type, object });
  }

  delete(name: string): void {
    const object = this.#objects.get(name);
    if (object === undefined) return;
    this.#version += 1;
    this.#objects.delete(name);
    this.#announce({ type: "DELETED", object: this.#object(name, "") });
  }

  /** Forgets the history, as a server does after some minutes. */
  compact(): void {
    this.#oldest = this.#version;
    this.#version += 1;
  }

  cut(error?: Error): void {
    for (const watch of this.open) {
      if (error === undefined) watch.end();
      else watch.fail(error);
    }
  }

  values(): Record<string, string | undefined> {
    return Object.fromEntries([...this.#objects].map(([name, { data }]) => [name, data?.["v"]]));
  }

  send<T>(request: ApiRequest): Promise<T> {
    this.requests.push(request);
    // Requests without a pause would never let a test go on.
    this.isAway ||= this.requests.length > 1000;
    if (this.isAway) return Promise.reject(new Error("connect ECONNREFUSED"));
    const metadata = this.hasVersions ? { resourceVersion: String(this.#version) } : {};
    return Promise.resolve({ metadata, items: [...this.#objects.values()] } as T);
  }

  watch<T>(
    request: Pick<ApiRequest, "path" | "query">,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.requests.push(request);
    if (this.isAway) return Promise.reject(new Error("connect ECONNREFUSED"));
    const query = request.query ?? {};
    const emit = onEvent as unknown as OpenWatch["emit"];
    const isInitial = query["sendInitialEvents"] === "true";
    if (isInitial && !this.canStream) {
      return Promise.reject(new ApiError(422, "Invalid", "sendInitialEvents: Forbidden"));
    }
    return new Promise((resolve, reject) => {
      const watch: OpenWatch = {
        query,
        emit,
        end: () => {
          this.open.delete(watch);
          resolve();
        },
        fail: (error) => {
          this.open.delete(watch);
          reject(error);
        },
      };
      this.open.add(watch);
      signal.addEventListener("abort", () => watch.fail(signal.reason as Error), { once: true });
      queueMicrotask(() => this.#begin(watch, isInitial));
    });
  }

  #begin(watch: OpenWatch, isInitial: boolean): void {
    if (!this.open.has(watch)) return;
    if (isInitial) {
      for (const object of [...this.#objects.values()].toReversed())
        watch.emit({ type: "ADDED", object });
      this.bookmark(watch, { "k8s.io/initial-events-end": "true" });
      return;
    }
    const from = Number(watch.query["resourceVersion"]);
    if (from < this.#oldest) {
      watch.fail(new ApiError(410, "Expired", "too old resource version"));
      return;
    }
    for (const { version, event } of this.#history) if (version > from) watch.emit(event);
  }

  bookmark(watch: OpenWatch, annotations: Record<string, string> = {}): void {
    const metadata = { resourceVersion: String(this.#version), annotations };
    watch.emit({ type: "BOOKMARK", object: { metadata } });
  }

  #object(name: string, v: string): ConfigMap {
    return {
      metadata: { namespace: "ns", name, resourceVersion: String(this.#version) },
      data: { v },
    };
  }

  #announce(event: WatchEvent<ConfigMap>): void {
    this.#history.push({ version: this.#version, event });
    for (const watch of this.open) {
      watch.emit(event);
      if (this.isStuttering) watch.emit(event);
    }
  }
}

function world(api: Collection) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const changes: string[][] = [];
  const seen = new Map<string, string | undefined>();
  const reflector = new Reflector<ConfigMap>({
    api,
    clock,
    random: () => 0.5,
    log: silentLog,
    path: "/api/v1/configmaps",
    query: { fieldSelector: "a=b" },
    sink: {
      deliver: (items, changed) => {
        changes.push([...changed].toSorted());
        for (const key of changed) {
          const item = items.get(key);
          if (item === undefined) seen.delete(key.slice(3));
          else seen.set(key.slice(3), item.data?.["v"]);
        }
      },
    },
  });
  const running = reflector.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort(new Error("the test is over"));
    await running;
  };
  return { clock, reflector, changes, seen, end };
}

test("what there is comes as one set, and then each change", async () => {
  const api = new Collection();
  api.set("a", "1");
  api.set("b", "1");
  const { clock, reflector, changes, end } = world(api);
  expect(reflector.isSynced).toBe(false);
  await settle();
  expect(reflector.isSynced).toBe(true);
  expect(changes).toEqual([["ns/a", "ns/b"]]);
  api.set("a", "2");
  api.delete("b");
  await settle();
  expect(changes.slice(1)).toEqual([["ns/a"], ["ns/b"]]);
  expect(api.requests).toHaveLength(1);
  expect(api.requests[0]?.query).toEqual({
    fieldSelector: "a=b",
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersionMatch: "NotOlderThan",
    sendInitialEvents: "true",
    timeoutSeconds: "450",
  });
  await clock.advance(0);
  await end();
});

test("an empty collection is delivered, and wakes who waits for it", async () => {
  const { reflector, changes, end } = world(new Collection());
  await reflector.whenSynced(new AbortController().signal);
  expect(changes).toEqual([[]]);
  await end();
});

test("a wait for the first set ends with its signal", async () => {
  const api = new Collection();
  api.isAway = true;
  const { reflector, end } = world(api);
  const stop = new AbortController();
  const waiting = reflector.whenSynced(stop.signal);
  stop.abort(new Error("too late"));
  await expect(waiting).rejects.toThrow("too late");
  await end();
});

test("a watch that the server ends goes on at once from the last bookmark", async () => {
  const api = new Collection();
  api.set("a", "1");
  const { clock, end } = world(api);
  await clock.advance(2000);
  api.compact();
  for (const watch of api.open) api.bookmark(watch);
  api.cut();
  await settle();
  expect(api.requests[1]?.query).toMatchObject({ resourceVersion: "12", watch: "true" });
  expect(api.requests[1]?.query).not.toHaveProperty("sendInitialEvents");
  await end();
});

test("a version that the server no longer knows leads to a new set without doubles", async () => {
  const api = new Collection();
  api.set("a", "1");
  api.set("b", "1");
  const { clock, changes, seen, end } = world(api);
  await clock.advance(2000);
  api.isAway = true;
  api.cut(new Error("socket hang up"));
  api.delete("a");
  api.set("c", "1");
  api.compact();
  await clock.advance(1000);
  api.isAway = false;
  await clock.advance(10_000);
  expect(changes).toEqual([
    ["ns/a", "ns/b"],
    ["ns/a", "ns/c"],
  ]);
  expect([...seen.keys()].toSorted()).toEqual(["b", "c"]);
  await end();
});

test("a server that does not stream what there is is asked for a list", async () => {
  const api = new Collection();
  api.canStream = false;
  api.set("a", "1");
  const { changes, end } = world(api);
  await settle();
  api.set("a", "2");
  await settle();
  expect(changes).toEqual([["ns/a"], ["ns/a"]]);
  expect(api.requests.map(({ query }) => query?.["resourceVersion"])).toEqual([
    undefined,
    undefined,
    "11",
  ]);
  await end();
});

test("a server whose lists have no version is asked again after a delay", async () => {
  const api = new Collection();
  api.canStream = false;
  api.hasVersions = false;
  const { clock, reflector, end } = world(api);
  await clock.advance(10_000);
  expect(reflector.isSynced).toBe(true);
  expect(api.requests).toHaveLength(8);
  await end();
});

test("a server that is away is asked less and less often, and found again", async () => {
  const api = new Collection();
  api.isAway = true;
  const { clock, reflector, end } = world(api);
  await clock.advance(60_000);
  // 1.2 s, 2.4 s, 4.8 s, ... apart, and 45 s at most.
  expect(api.requests).toHaveLength(6);
  expect(reflector.failure).toBe("connect ECONNREFUSED");
  await clock.advance(600_000);
  expect(api.requests).toHaveLength(19);
  api.isAway = false;
  await clock.advance(45_000);
  expect(reflector.isSynced).toBe(true);
  expect(reflector.failure).toBeUndefined();
  await end();
});

test("a connection over which nothing comes any more is given up", async () => {
  const api = new Collection();
  const { clock, end } = world(api);
  await clock.advance(479_000);
  expect(api.requests).toHaveLength(1);
  await clock.advance(2000);
  expect(api.requests).toHaveLength(2);
  await end();
});

test("an error of the sink ends the reflector", async () => {
  const clock = new VirtualClock();
  const api = new Collection();
  const reflector = new Reflector<ConfigMap>({
    api,
    clock,
    random: () => 0,
    log: silentLog,
    path: "/api/v1/configmaps",
    sink: {
      deliver: (items) => {
        if (items.size > 0) throw new Error("too many for me");
      },
    },
  });
  const ended = reflector.run(new AbortController().signal).catch((error: unknown) => error);
  await settle();
  const [watch] = api.open;
  // As a driver does that finds its reader unable to go on.
  try {
    api.set("a", "1");
  } catch (error) {
    watch?.fail(error as Error);
  }
  expect(await ended).toEqual(new Error("too many for me"));
});

test("whatever happens to the connection, the set ends up as the server's", async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("set" as const),
      name: fc.constantFrom("a", "b", "c", "d"),
      value: fc.string({ maxLength: 2 }),
    }),
    fc.record({ kind: fc.constant("delete" as const), name: fc.constantFrom("a", "b", "c", "d") }),
    fc.record({
      kind: fc.constantFrom("compact", "end", "break", "refuse", "away", "back", "wait", "stutter"),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, canStream) => {
      const api = new Collection();
      api.canStream = canStream;
      const { clock, reflector, seen, end } = world(api);
      for (const action of steps) {
        switch (action.kind) {
          case "set":
            if ("value" in action) api.set(action.name, action.value);
            break;
          case "delete":
            if ("name" in action) api.delete(action.name);
            break;
          case "compact":
            api.compact();
            break;
          case "end":
            api.cut();
            break;
          case "break":
            api.cut(new Error("socket hang up"));
            break;
          case "refuse":
            api.cut(new ApiError(500, "InternalError", "etcd is gone"));
            break;
          case "away":
            api.isAway = true;
            api.cut(new Error("socket hang up"));
            break;
          case "back":
            api.isAway = false;
            break;
          case "wait":
            await clock.advance(3000);
            break;
          default:
            api.isStuttering = !api.isStuttering;
        }
      }
      api.isAway = false;
      await clock.advance(60_000);
      expect(Object.fromEntries(seen)).toEqual(api.values());
      expect(reflector.items.size).toBe(seen.size);
      expect(api.open.size).toBe(1);
      await end();
    }),
    { numRuns: 200 },
  );
});
