import type { ApiObject } from "../../core/cluster/object-set.ts";
import {
  type PodReferences,
  podReferences,
  type ReferencedKind,
  referencedObjects,
  refersTo,
} from "../../core/cluster/pod-references.ts";
import { err, ok, type Result } from "../../lib/result.ts";
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
import type { ObjectStore, RuntimeClassStore } from "../../ports/object-store.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable } from "../pods/pod-table.ts";
import {
  FetchedObjects,
  type NeededObjects,
  ObjectUsers,
  WatchedObjects,
  whenSynced,
} from "./needed-objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiObjectsDeps
  extends Pick<ReflectorOptions<unknown>, "api" | "clock" | "random" | "log"> {
  /** How changes of config maps and secrets are noticed. */
  readonly strategy: "Watch" | "Cache" | "Get";
  /** This node. */
  readonly nodes: Pick<Reflector<Node>, "items">;
  readonly table: PodTable;
  readonly wakeups: Pick<Wakeups, "look">;
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
