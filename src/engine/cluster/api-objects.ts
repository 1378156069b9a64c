import type { ApiObject } from "../../core/cluster/object-set.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ConfigMap, RuntimeClass, Secret, Service } from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import { referencedConfigMaps, referencedSecrets } from "../../model/referenced-objects.ts";
import type { ObjectStore, RuntimeClassStore } from "../../ports/object-store.ts";
import { FetchedObjects } from "./fetched-objects.ts";
import type { NeededObjects, ObjectKind, ObjectName } from "./needed-objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";
import { WatchedObjects } from "./watched-objects.ts";
import { whenSynced } from "./when-synced.ts";

const configMaps: ObjectKind = { name: "configmap", plural: "configmaps" };
const secrets: ObjectKind = { name: "secret", plural: "secrets" };
const defaultTtlMs = 60_000;

export interface ApiObjectsDeps
  extends Pick<ReflectorOptions<unknown>, "api" | "clock" | "random" | "log"> {
  /** How changes of config maps and secrets are noticed. */
  readonly strategy: "Watch" | "Cache" | "Get";
  /** For Cache: how long the cluster wants objects to be cached, if it says so. */
  readonly objectTtlMs: () => number | undefined;
  /** An object that a pod refers to is another one now. */
  readonly onChange: (podUid: string) => void;
  readonly lifetime: AbortSignal;
}

/** What pods of the cluster refer to: config maps and secrets of their namespace, runtime classes, services. */
export class ApiObjects implements ObjectStore, RuntimeClassStore {
  readonly #deps: ApiObjectsDeps;
  readonly #configMaps: NeededObjects<ConfigMap>;
  readonly #secrets: NeededObjects<Secret>;
  readonly #runtimeClasses: Reflector<RuntimeClass>;
  readonly #services: Reflector<Service>;

  constructor(deps: ApiObjectsDeps) {
    this.#deps = deps;
    this.#configMaps = neededObjects<ConfigMap>(deps, configMaps);
    this.#secrets = neededObjects<Secret>(deps, secrets);
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
   * From now on what the pod refers to is kept up to date. Waits a short time for what was never heard of; what has
   * not come by then is missing for who asks.
   */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, uid } = pod.metadata;
    const inNamespace = (names: ReadonlySet<string>): ObjectName[] =>
      [...names].map((name) => ({ namespace, name }));
    const configMapNames = inNamespace(referencedConfigMaps(pod.spec));
    const secretNames = inNamespace(referencedSecrets(pod.spec));
    this.#configMaps.setNeeded(uid, configMapNames);
    this.#secrets.setNeeded(uid, secretNames);
    await Promise.all([
      this.#configMaps.refresh(configMapNames, signal),
      this.#secrets.refresh(secretNames, signal),
      whenSynced(this.#collectionsOf(pod), this.#deps.clock, signal),
    ]);
  }

  /** The pod needs nothing any more. */
  release(podUid: string): void {
    this.#configMaps.setNeeded(podUid, []);
    this.#secrets.setNeeded(podUid, []);
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
  kind: ObjectKind,
): NeededObjects<T> {
  switch (deps.strategy) {
    case "Watch":
      return new WatchedObjects<T>({ ...deps, kind });
    case "Cache":
      return new FetchedObjects<T>({
        ...deps,
        kind,
        ttlMs: () => deps.objectTtlMs() ?? defaultTtlMs,
      });
    case "Get":
      return new FetchedObjects<T>({ ...deps, kind, ttlMs: () => 0 });
  }
}
