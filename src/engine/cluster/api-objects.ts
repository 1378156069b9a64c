import { type ApiObject, isEarlier } from "../../core/cluster/object-set.ts";
import {
  type ObjectName,
  type PodReferences,
  podReferences,
  type ReferencedKind,
  referencedObjects,
  refersTo,
} from "../../core/cluster/pod-references.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { noLongerNeeded, withEither } from "../../lib/with-either.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type {
  ConfigMap,
  Node,
  RuntimeClass,
  Secret,
  Service,
} from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ObjectStore, RuntimeClassStore } from "../../ports/object-store.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiObjectsDeps
  extends Pick<ReflectorOptions<unknown>, "api" | "clock" | "random" | "log"> {
  /** How changes of config maps and secrets are noticed. */
  readonly strategy: "Watch" | "Cache" | "Get";
  /** This node. */
  readonly nodes: Pick<Reflector<Node>, "items">;
  readonly table: PodTable;
  readonly wakeups: Pick<Wakeups, "noteObject">;
  readonly lifetime: AbortSignal;
}

/** What pods of the cluster refer to: config maps and secrets of their namespace, runtime classes, services. */
export class ApiObjects implements ObjectStore, RuntimeClassStore {
  readonly #deps: ApiObjectsDeps;
  readonly #users: ObjectUsers;
  readonly #configMaps: NeededObjects<ConfigMap>;
  readonly #secrets: NeededObjects<Secret>;
  readonly #runtimeClasses: Reflector<RuntimeClass>;
  readonly #services: Reflector<Service>;

  constructor(deps: ApiObjectsDeps) {
    this.#deps = deps;
    this.#users = new ObjectUsers(deps.table, deps.wakeups);
    this.#configMaps = neededObjects<ConfigMap>(deps, "configmaps", this.#users);
    this.#secrets = neededObjects<Secret>(deps, "secrets", this.#users);
    this.#runtimeClasses = new Reflector({
      ...deps,
      path: "/apis/node.k8s.io/v1/runtimeclasses",
    });
    this.#services = new Reflector({
      ...deps,
      path: "/api/v1/services",
      query: { fieldSelector: "spec.clusterIP!=None" },
    });
  }

  /** Follows runtime classes and services until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#runtimeClasses.run(signal), this.#services.run(signal)]);
  }

  /**
   * From now on what the pod refers to is kept up to date. Waits a short time for what was never read; what has not
   * come by then is reported as missing to its users.
   */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const references = podReferences(pod);
    this.#setReferences(pod.metadata.uid, references);
    await Promise.all([
      this.#configMaps.refresh(referencedObjects(references, "configmaps"), signal),
      this.#secrets.refresh(referencedObjects(references, "secrets"), signal),
      whenSynced(this.#collectionsOf(pod), this.#deps.clock, signal),
    ]);
  }

  /** The pod needs nothing any more. */
  release(podUid: PodUid): void {
    this.#setReferences(podUid, undefined);
  }

  configMap(namespace: string, name: string): Result<ConfigMap, LookUpFailure> {
    return this.#configMaps.get({ namespace, name });
  }

  secret(namespace: string, name: string): Result<Secret, LookUpFailure> {
    return this.#secrets.get({ namespace, name });
  }

  runtimeClass(name: string): Result<RuntimeClass, LookUpFailure> {
    const found = this.#runtimeClasses.items.get(name);
    if (found !== undefined) return ok(found);
    const message = `runtimeclass.node.k8s.io "${name}" not found`;
    return err({ code: "not-found", message });
  }

  /** Undefined until they were read once. */
  get services(): readonly Service[] | undefined {
    return this.#services.isSynced ? [...this.#services.items.values()] : undefined;
  }

  #setReferences(podUid: PodUid, after: PodReferences | undefined): void {
    const before = this.#users.setReferences(podUid, after);
    const stores = { configmaps: this.#configMaps, secrets: this.#secrets };
    for (const kind of ["configmaps", "secrets"] as const) {
      for (const object of referencedObjects(after, kind)) stores[kind].keep(object);
      for (const object of referencedObjects(before, kind)) {
        const isNeeded = refersTo(after, kind, object) || this.#users.hasUser(kind, object);
        if (!isNeeded) stores[kind].drop(object);
      }
    }
  }

  #collectionsOf(pod: Pod): readonly Pick<Reflector<object>, "isSynced" | "whenSynced">[] {
    return [
      ...((pod.spec.runtimeClassName ?? "") === "" ? [] : [this.#runtimeClasses]),
      // A static pod starts without the cluster.
      ...(isStaticPod(pod) ? [] : [this.#services]),
    ];
  }
}

function neededObjects<T extends ApiObject & { readonly immutable?: boolean | undefined }>(
  deps: ApiObjectsDeps,
  kind: ReferencedKind,
  users: ObjectUsers,
): NeededObjects<T> {
  switch (deps.strategy) {
    case "Watch":
      return new WatchedObjects<T>({ ...deps, kind, users });
    case "Cache":
      return new FetchedObjects<T>({ ...deps, kind });
    case "Get":
      return new FetchedObjects<T>({ ...deps, kind, nodes: undefined });
  }
}

/** The objects of one kind that the node's pods refer to, and no others. */
interface NeededObjects<T> {
  /** A pod refers to it. Does nothing for an object that is kept already. */
  keep(object: ObjectName): void;
  /** No pod refers to it any more. */
  drop(object: ObjectName): void;
  /** Brings these up to date, as far as that is possible in a short time. */
  refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void>;
  get(object: ObjectName): Result<T, LookUpFailure>;
}

function collectionPath(kind: ReferencedKind, namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}`;
}

function nameKey({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

function notRegistered({ namespace, name }: ObjectName): LookUpFailure {
  return { code: "failed", message: `object "${namespace}"/"${name}" not registered` };
}

/** There are many of these watches, and most objects hardly change. */
const watchMs = 30 * 60_000;
/** A server that just bound a pod may not know yet that its node may see the pod's objects, but will in a moment. */
const backoff: BackoffLimits = { initialMs: 100, maxMs: 30_000 };

interface WatchedObjectsDeps extends ApiObjectsDeps {
  readonly kind: ReferencedKind;
  /** Notified of objects that changed, or came late. */
  readonly users: ObjectUsers;
}

interface Watched<T> {
  readonly reflector: Reflector<T & ApiObject>;
  readonly stop: AbortController;
  /** A pod was synced without it, and has to be synced again when it comes. */
  isMissed: boolean;
}

/** Watches each object on its own for as long as a pod refers to it. */
class WatchedObjects<T extends ApiObject & { readonly immutable?: boolean | undefined }>
  implements NeededObjects<T>
{
  readonly #deps: WatchedObjectsDeps;
  readonly #watched = new Map<string, Watched<T>>();

  constructor(deps: WatchedObjectsDeps) {
    this.#deps = deps;
  }

  keep(object: ObjectName): void {
    const key = nameKey(object);
    if (!this.#watched.has(key)) this.#watched.set(key, this.#start(object));
  }

  drop(object: ObjectName): void {
    const key = nameKey(object);
    this.#watched.get(key)?.stop.abort(new Error("no pod refers to the object any more"));
    this.#watched.delete(key);
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    const items = objects.flatMap((object) => this.#watched.get(nameKey(object)) ?? []);
    await whenSynced(
      items.map(({ reflector }) => reflector),
      this.#deps.clock,
      signal,
    );
    for (const item of items) item.isMissed ||= !item.reflector.isSynced;
  }

  get(object: ObjectName): Result<T, LookUpFailure> {
    const watched = this.#watched.get(nameKey(object));
    if (watched === undefined) return err(notRegistered(object));
    // As messages have it, such as configmap.
    const kind = this.#deps.kind.slice(0, -1);
    if (!watched.reflector.isSynced) {
      const message = `failed to sync ${kind} cache: timed out waiting for the condition`;
      return err({ code: "failed", message });
    }
    const found = watched.reflector.items.get(nameKey(object));
    if (found !== undefined) return ok(found);
    return err({ code: "not-found", message: `${kind} "${object.name}" not found` });
  }

  #start(object: ObjectName): Watched<T> {
    const { kind, users, lifetime } = this.#deps;
    const stop = new AbortController();
    let isFirst = true;
    const reflector = new Reflector<T>({
      ...this.#deps,
      path: collectionPath(kind, object.namespace),
      query: { fieldSelector: `metadata.name=${escapedSelector(object.name)}` },
      watchMs,
      backoff,
      sink: {
        deliver: (items) => {
          // What cannot change any more needs no watch.
          if (items.get(nameKey(object))?.immutable === true) {
            stop.abort(new Error("the object is immutable"));
          }
          const isNews = !isFirst || watched.isMissed;
          isFirst = false;
          if (isNews) users.noteChange(kind, object);
        },
      },
    });
    const watched: Watched<T> = { reflector, stop, isMissed: false };
    void withEither([stop.signal, lifetime], (either) => reflector.run(either));
    return watched;
  }
}

function escapedSelector(value: string): string {
  return value.replaceAll(/[\\,=]/g, String.raw`\$&`);
}

const defaultTtlMs = 60_000;

interface FetchedObjectsDeps extends Pick<ApiObjectsDeps, "api" | "clock"> {
  readonly kind: ReferencedKind;
  /** This node, by whose annotation objects are cached for some time; undefined = they are read for each use. */
  readonly nodes: Pick<Reflector<Node>, "items"> | undefined;
}

interface Fetched<T> {
  found: Result<T, LookUpFailure> | undefined;
  /** Undefined until the server has said whether there is one. */
  readAtMs: number | undefined;
}

/** Reads objects one by one when a pod is about to use them, unless they were read a short time ago. */
class FetchedObjects<T extends ApiObject> implements NeededObjects<T> {
  readonly #deps: FetchedObjectsDeps;
  readonly #fetched = new Map<string, Fetched<T>>();

  constructor(deps: FetchedObjectsDeps) {
    this.#deps = deps;
  }

  keep(object: ObjectName): void {
    const key = nameKey(object);
    if (this.#fetched.has(key)) return;
    this.#fetched.set(key, { found: undefined, readAtMs: undefined });
  }

  drop(object: ObjectName): void {
    this.#fetched.delete(nameKey(object));
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    await Promise.all(objects.map((object) => this.#refresh(object, signal)));
  }

  get(object: ObjectName): Result<T, LookUpFailure> {
    return this.#fetched.get(nameKey(object))?.found ?? err(notRegistered(object));
  }

  async #refresh(object: ObjectName, signal: AbortSignal): Promise<void> {
    const { api, clock, kind, nodes } = this.#deps;
    const item = this.#fetched.get(nameKey(object));
    if (item === undefined) return;
    const { readAtMs, found } = item;
    const nowMs = clock.monotonicMs();
    const isFresh = readAtMs !== undefined && nowMs < readAtMs + ttlMs(nodes);
    if (isFresh && found?.ok === true) return;
    try {
      const path = `${collectionPath(kind, object.namespace)}/${encodeURIComponent(object.name)}`;
      // What is only looked at again may come from the server's cache.
      const query = found?.ok === true ? { resourceVersion: "0" } : undefined;
      const read = await api.send<T>({ method: "GET", path, query }, signal);
      if (found?.ok !== true || !isEarlier(read, found.value)) item.found = ok(read);
      item.readAtMs = nowMs;
    } catch (error) {
      signal.throwIfAborted();
      const message = errorText(error);
      if (isApiStatus(error, 404)) {
        item.found = err({ code: "not-found", message });
        item.readAtMs = nowMs;
      } else if (readAtMs === undefined) {
        item.found = err({ code: "failed", message });
      }
    }
  }
}

/** The more nodes a cluster has, the longer it wants them to cache objects. */
function ttlMs(nodes: FetchedObjectsDeps["nodes"]): number {
  if (nodes === undefined) return 0;
  const [node] = nodes.items.values();
  const text = node?.metadata?.annotations?.["node.alpha.kubernetes.io/ttl"] ?? "";
  return /^\d+$/.test(text) ? Number(text) * 1000 : defaultTtlMs;
}

/** Which pods refer to which objects. */
class ObjectUsers {
  readonly #references: SliceWriter<"references">;
  readonly #wakeups: Pick<Wakeups, "noteObject">;

  constructor(table: PodTable, wakeups: Pick<Wakeups, "noteObject">) {
    this.#references = table.writer("references");
    this.#wakeups = wakeups;
  }

  /** Undefined = to nothing. Returns what the pod referred to before. */
  setReferences(podUid: PodUid, references: PodReferences | undefined): PodReferences | undefined {
    const before = this.#references.get(podUid);
    this.#references.set(podUid, references);
    return before;
  }

  hasUser(kind: ReferencedKind, object: ObjectName): boolean {
    return this.#find(kind, object).next().done !== true;
  }

  /** The pods that refer to the object are synced soon. */
  noteChange(kind: ReferencedKind, object: ObjectName): void {
    for (const podUid of this.#find(kind, object)) this.#wakeups.noteObject(podUid);
  }

  *#find(kind: ReferencedKind, object: ObjectName): Generator<PodUid, void> {
    for (const [podUid, references] of this.#references.entries()) {
      if (refersTo(references, kind, object)) yield podUid;
    }
  }
}

/** How long the use of an object waits for the API server to send it. */
const longestWaitMs = 1000;

/** Waits a short time for the first complete set of each. */
async function whenSynced(
  reflectors: readonly Pick<Reflector<object>, "isSynced" | "whenSynced">[],
  clock: Pick<Clock, "sleep">,
  signal: AbortSignal,
): Promise<void> {
  const late = reflectors.filter(({ isSynced }) => !isSynced);
  if (late.length === 0) return;
  const done = new AbortController();
  await withEither([signal, done.signal], async (ended) => {
    const synced = Promise.all(late.map((reflector) => reflector.whenSynced(ended)));
    try {
      await Promise.race([synced, clock.sleep(longestWaitMs, ended)]);
    } finally {
      done.abort(noLongerNeeded);
      await synced.catch(() => undefined);
    }
  });
}
