import { randomUUID } from "node:crypto";
import { formatTime } from "../../src/lib/time.ts";
import { ApiError } from "../../src/model/api-error.ts";
import type { WatchEvent } from "../../src/model/watch-event.ts";
import type { ApiClient, ApiRequest } from "../../src/ports/api-client.ts";
import { type ApiPath, parseApiPath } from "./api-path.ts";
import { matchesSelectors } from "./api-selectors.ts";
import { type Change, isBelow, notify, type StoredObject, type Watcher } from "./api-watchers.ts";
import { plainCopy } from "./plain-copy.ts";
import { applyJsonMerge, applyStrategicMerge } from "./strategic-merge.ts";

/** Answers a request instead of the store: undefined passes it on, a throw refuses it. */
export type Interceptor = (request: ApiRequest) => unknown;

type Query = Readonly<Record<string, string>>;

export interface MemoryApiOptions {
  readonly newUid?: (() => string) | undefined;
  /** Notified of every change, before watchers are. */
  readonly onChange?: ((change: Change) => void) | undefined;
}

/**
 * An API server in memory: get, list, create, update, patch, delete and watch with resource versions, of any kind.
 * It knows of kinds only that the status of pods and nodes is a subresource, and that pods end gracefully.
 */
export class MemoryApi implements ApiClient {
  /** Every request that came, in order; watches too. */
  readonly requests: (ApiRequest & { readonly watch?: true })[] = [];
  /** False: no request gets an answer, and watches break. */
  #isUp = true;
  #version = 0;
  #oldestVersion = 0;
  readonly #nowMs: () => number;
  readonly #newUid: () => string;
  readonly #onChange: (change: Change) => void;
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #interceptors: Interceptor[] = [];

  constructor(
    nowMs: () => number = () => 0,
    { newUid = randomUUID, onChange = () => undefined }: MemoryApiOptions = {},
  ) {
    this.#nowMs = nowMs;
    this.#newUid = newUid;
    this.#onChange = onChange;
  }

  async send<T>(request: ApiRequest, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.requests.push(request);
    await Promise.resolve();
    this.#assertUp();
    for (const intercept of this.#interceptors) {
      const answer: unknown = await intercept(request);
      if (answer !== undefined) return answer as T;
    }
    // No copy: what is stored is never changed, nor is what a client receives.
    return this.#answer(request, parseApiPath(request.path)) as T;
  }

  async watch<T>(
    request: Pick<ApiRequest, "path" | "query">,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    this.requests.push({ method: "GET", watch: true, ...request });
    await Promise.resolve();
    this.#assertUp();
    const query = request.query ?? {};
    const from = Number(query["resourceVersion"] ?? 0);
    if (from !== 0 && from < this.#oldestVersion) {
      throw new ApiError(410, "Expired", `too old resource version: ${from}`);
    }
    await new Promise<void>((resolve, reject) => {
      const watcher: Watcher = {
        path: parseApiPath(request.path),
        query,
        onEvent: (event) => onEvent(event as WatchEvent<T>),
        end: (error) => {
          this.#watchers.delete(watcher);
          signal.removeEventListener("abort", stop);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const stop = (): void => watcher.end(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      // Before it begins: what it receives first may be all that its owner wanted.
      this.#watchers.add(watcher);
      this.#beginWatch(watcher, from);
    });
  }

  /** Asked before the store, the newest last; answers a function that takes it out again. */
  intercept(interceptor: Interceptor): () => void {
    this.#interceptors.push(interceptor);
    return () => {
      this.#interceptors.splice(this.#interceptors.indexOf(interceptor), 1);
    };
  }

  /** Puts an object there as another client would: creates or replaces it. */
  put(path: string, object: object): StoredObject {
    const at = parseApiPath(path);
    const meta = { ...metaOf(object), name: at.name, ...namespaceOf(at) };
    return this.#store(at, { ...object, metadata: meta });
  }

  /** Takes an object away as another client would, whatever its finalizers. */
  remove(path: string): void {
    const at = parseApiPath(path);
    const object = this.#find(at);
    if (object !== undefined) this.#erase(at, object);
  }

  get(path: string): StoredObject | undefined {
    return plainCopy(this.#find(parseApiPath(path)));
  }

  /** All objects below a collection's path. */
  list(path: string): readonly StoredObject[] {
    return plainCopy(this.#select(parseApiPath(path), {}));
  }

  goDown(): void {
    this.#isUp = false;
    this.cutWatches(unreachable());
  }

  comeBack(): void {
    this.#isUp = true;
  }

  /** Ends all watches as a server does when their time is over, or with an error. */
  cutWatches(error?: unknown): void {
    for (const watcher of this.#watchers) watcher.end(error);
  }

  /** Forgets history: a watch from an earlier version is refused with 410. */
  compact(): void {
    this.#oldestVersion = this.#version;
    this.#changes.length = 0;
  }

  /** Sends bookmarks to the watchers that asked for them. */
  bookmark(): void {
    for (const watcher of this.#watchers) {
      if (watcher.query["allowWatchBookmarks"] === "true") watcher.onEvent(this.#bookmark());
    }
  }

  get watchCount(): number {
    return this.#watchers.size;
  }

  #answer(request: ApiRequest, path: ApiPath): unknown {
    switch (request.method) {
      case "GET":
        return path.name === "" ? this.#answerList(path, request.query ?? {}) : this.#need(path);
      case "POST":
        return this.#create(path, request.body as Partial<StoredObject>);
      case "PUT":
        return this.#update(path, request.body as StoredObject);
      case "PATCH":
        return this.#patch(path, request);
      case "DELETE":
        return this.#delete(path, request.body as DeleteBody | undefined);
    }
  }

  #answerList(path: ApiPath, query: Query): unknown {
    return {
      kind: "List",
      apiVersion: path.groupVersion,
      metadata: { resourceVersion: String(this.#version) },
      items: this.#select(path, query),
    };
  }

  #create(path: ApiPath, body: Partial<StoredObject>): StoredObject {
    const sent = metaOf(body);
    const { generateName } = sent;
    const name =
      typeof sent["name"] === "string"
        ? sent["name"]
        : `${typeof generateName === "string" ? generateName : ""}${this.#newUid().slice(0, 5)}`;
    const at = { ...path, name };
    if (this.#find(at) !== undefined) {
      throw new ApiError(409, "AlreadyExists", `${at.resource} "${name}" already exists`);
    }
    const metadata = { ...sent, uid: undefined, name, ...namespaceOf(at) };
    return this.#store(at, { ...body, metadata });
  }

  #update(path: ApiPath, body: StoredObject): StoredObject {
    const old = this.#need(path);
    this.#checkPreconditions(path, old, metaOf(body));
    return this.#store(path, { ...body, metadata: { ...old.metadata, ...metaOf(body) } });
  }

  #patch(path: ApiPath, { body, patchType = "strategic" }: ApiRequest): StoredObject {
    const old = this.#need(path);
    if (patchType === "json") throw new ApiError(415, "UnsupportedMediaType", "no JSON patches");
    this.#checkPreconditions(path, old, metaOf(body as object));
    const apply = patchType === "merge" ? applyJsonMerge : applyStrategicMerge;
    const merged = apply(old, body) as StoredObject;
    if (!["pods", "nodes"].includes(path.resource)) return this.#store(path, merged);
    const untouched = path.subresource === "status" ? "spec" : "status";
    return this.#store(path, { ...merged, [untouched]: old[untouched] });
  }

  #delete(path: ApiPath, options: DeleteBody | undefined): StoredObject {
    const old = this.#need(path);
    const { uid, resourceVersion } = options?.preconditions ?? {};
    this.#checkPreconditions(path, old, { uid, resourceVersion });
    const isGraceful = path.resource === "pods" && options?.gracePeriodSeconds !== 0;
    const isHeld = (old.metadata.finalizers ?? []).length > 0;
    if (!isGraceful && !isHeld) return this.#erase(path, old);
    const spec = old["spec"] as { readonly terminationGracePeriodSeconds?: number } | undefined;
    const graceSeconds = isGraceful
      ? (options?.gracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30)
      : 0;
    const deletionTimestamp = formatTime(this.#nowMs() + graceSeconds * 1000);
    const metadata = {
      ...old.metadata,
      deletionTimestamp,
      deletionGracePeriodSeconds: graceSeconds,
    };
    return this.#store(path, { ...old, metadata });
  }

  #checkPreconditions(
    path: ApiPath,
    old: StoredObject,
    wanted: Readonly<Record<string, unknown>>,
  ): void {
    const { uid, resourceVersion } = wanted;
    const isOther =
      (uid !== undefined && uid !== old.metadata.uid) ||
      (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion);
    if (!isOther) return;
    const message = `Operation cannot be fulfilled on ${path.resource} "${path.name}": the object has been modified`;
    throw new ApiError(409, "Conflict", message);
  }

  #need(path: ApiPath): StoredObject {
    const object = this.#find(path);
    if (object !== undefined) return object;
    const resource = path.group === "" ? path.resource : `${path.resource}.${path.group}`;
    throw new ApiError(404, "NotFound", `${resource} "${path.name}" not found`);
  }

  #find(path: ApiPath): StoredObject | undefined {
    return this.#objects.get(path.collection)?.get(keyOf(path));
  }

  #select(path: ApiPath, query: Query): readonly StoredObject[] {
    return [...(this.#objects.get(path.collection)?.values() ?? [])].filter(
      (object) => isBelow(object, path) && matchesSelectors(object, query),
    );
  }

  #store(path: ApiPath, object: object): StoredObject {
    const before = this.#find(path);
    const sent = metaOf(object);
    const meta = {
      ...sent,
      uid: before?.metadata.uid ?? sent["uid"] ?? this.#newUid(),
      creationTimestamp:
        before?.metadata["creationTimestamp"] ??
        sent["creationTimestamp"] ??
        formatTime(this.#nowMs()),
      resourceVersion: String(this.#version + 1),
    };
    const stored = plainCopy({ ...object, metadata: meta }) as unknown as StoredObject;
    const isEnded =
      stored.metadata.deletionTimestamp !== undefined &&
      stored.metadata["deletionGracePeriodSeconds"] === 0 &&
      (stored.metadata.finalizers ?? []).length === 0;
    if (isEnded) return this.#erase(path, stored);
    const collection = this.#objects.get(path.collection) ?? new Map<string, StoredObject>();
    this.#objects.set(path.collection, collection.set(keyOf(path), stored));
    this.#announce(path, before === undefined ? "ADDED" : "MODIFIED", stored, before);
    return stored;
  }

  #erase(path: ApiPath, object: StoredObject): StoredObject {
    this.#objects.get(path.collection)?.delete(keyOf(path));
    const metadata = { ...object.metadata, resourceVersion: String(this.#version + 1) };
    const last = { ...object, metadata };
    this.#announce(path, "DELETED", last, object);
    return last;
  }

  #announce(
    path: ApiPath,
    type: Change["type"],
    object: StoredObject,
    before: StoredObject | undefined,
  ): void {
    this.#version++;
    const change = { version: this.#version, type, collection: path.collection, object, before };
    this.#changes.push(change);
    this.#onChange(change);
    for (const watcher of this.#watchers) notify(watcher, change);
  }

  #beginWatch(watcher: Watcher, from: number): void {
    const { path, query } = watcher;
    if (from === 0) {
      for (const object of this.#select(path, query)) watcher.onEvent({ type: "ADDED", object });
    } else {
      for (const change of this.#changes) if (change.version > from) notify(watcher, change);
    }
    if (query["sendInitialEvents"] === "true") {
      watcher.onEvent(this.#bookmark({ "k8s.io/initial-events-end": "true" }));
    }
  }

  #bookmark(annotations?: Readonly<Record<string, string>>): WatchEvent<StoredObject> {
    const metadata = {
      name: "",
      uid: "",
      resourceVersion: String(this.#version),
      ...(annotations === undefined ? {} : { annotations }),
    };
    return { type: "BOOKMARK", object: { metadata } };
  }

  #assertUp(): void {
    if (!this.#isUp) throw unreachable();
  }
}

interface DeleteBody {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

function keyOf({ namespace, name }: ApiPath): string {
  return `${namespace}/${name}`;
}

function namespaceOf({ namespace }: ApiPath): { readonly namespace?: string } {
  return namespace === "" ? {} : { namespace };
}

function metaOf(object: object): Readonly<Record<string, unknown>> {
  return (object as Partial<StoredObject>).metadata ?? {};
}

function unreachable(): Error {
  return new Error("connect ECONNREFUSED 127.0.0.1:6443");
}
