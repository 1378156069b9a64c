import { err, ok, type Result } from "../../lib/result.ts";
import { type EphemeralClaim, ephemeralClaims } from "../../model/ephemeral-claims.ts";
import type {
  ConfigMap,
  CSIDriver,
  CSIDriverSpec,
  RuntimeClass,
  Secret,
  Service,
} from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import { bindClaims, type ClaimBinding } from "../../model/manifest/bind-claims.ts";
import type { Pod } from "../../model/pod.ts";
import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import type { SourceSnapshot } from "../../ports/pod-source.ts";

type Objects = Required<
  Pick<
    SourceSnapshot,
    "configMaps" | "secrets" | "runtimeClasses" | "claims" | "persistentVolumes" | "csiDrivers"
  >
> & { readonly ephemeral: readonly EphemeralClaim[] };

/** As the API server completes it, and as a driver without an object is used. */
const defaultCsiDriver: CSIDriverSpec = {
  podInfoOnMount: false,
  fsGroupPolicy: "ReadWriteOnceWithFSType",
  volumeLifecycleModes: ["Persistent"],
  requiresRepublish: false,
  seLinuxMount: false,
};

/** A pod that cannot be read is refused by what admits it, and keeps no other object from its users. */
function claimsOf(pod: Pod): readonly EphemeralClaim[] {
  try {
    return ephemeralClaims(pod);
  } catch {
    return [];
  }
}

/** The objects that lie beside the pods in the sources. */
export class LocalObjects implements ObjectStore, RuntimeClassStore, ServiceStore {
  /** Manifests hold none. */
  readonly services: readonly Service[] = [];
  readonly #bySource = new Map<string, Objects>();
  #bindings: readonly ClaimBinding[] = [];

  /** Takes a source's complete set; true when it is not the one from before. */
  set(source: string, snapshot: SourceSnapshot): boolean {
    const before = this.#bySource.get(source);
    const { configMaps, secrets, runtimeClasses = [] } = snapshot;
    const { claims = [], persistentVolumes = [], csiDrivers = [] } = snapshot;
    const ephemeral = snapshot.pods.flatMap(claimsOf);
    const storage = { claims, persistentVolumes, csiDrivers, ephemeral };
    const objects = { configMaps, secrets, runtimeClasses, ...storage };
    this.#bySource.set(source, objects);
    const isChanged = JSON.stringify(before) !== JSON.stringify(objects);
    if (isChanged) this.#bindings = this.#bind();
    return isChanged;
  }

  /** What each claim gets. */
  get bindings(): readonly ClaimBinding[] {
    return this.#bindings;
  }

  /** How the driver wants to be used. Nothing attaches volumes without a cluster, so that none waits for it. */
  csiDriver(name: string): CSIDriver {
    const found = [...this.#bySource.values()]
      .flatMap(({ csiDrivers }) => csiDrivers)
      .find(({ metadata }) => metadata?.name === name);
    const spec = { ...defaultCsiDriver, ...found?.spec, attachRequired: false };
    return { metadata: { name }, ...found, spec };
  }

  configMap(namespace: string, name: string): Result<ConfigMap, LookUpFailure> {
    const found = this.#find(({ configMaps }) => configMaps, namespace, name);
    return found === undefined ? notFound("configmap", name) : ok(found);
  }

  secret(namespace: string, name: string): Result<Secret, LookUpFailure> {
    const found = this.#find(({ secrets }) => secrets, namespace, name);
    return found === undefined ? notFound("secret", name) : ok(found);
  }

  runtimeClass(name: string): Result<RuntimeClass, LookUpFailure> {
    const found = [...this.#bySource.values()]
      .flatMap(({ runtimeClasses }) => runtimeClasses)
      .find(({ metadata }) => metadata?.name === name);
    return found === undefined ? notFound("runtimeclass.node.k8s.io", name) : ok(found);
  }

  #bind(): readonly ClaimBinding[] {
    const objects = [...this.#bySource.values()];
    return bindClaims(
      objects.flatMap(({ claims }) => claims),
      objects.flatMap(({ persistentVolumes }) => persistentVolumes),
      objects.flatMap(({ ephemeral }) => ephemeral),
    );
  }

  #find<T extends ConfigMap | Secret>(
    list: (objects: Objects) => readonly T[],
    namespace: string,
    name: string,
  ): T | undefined {
    return [...this.#bySource.values()]
      .flatMap(list)
      .find(
        ({ metadata }) =>
          metadata?.name === name && (metadata.namespace ?? "default") === namespace,
      );
  }
}

function notFound(kind: string, name: string): Result<never, LookUpFailure> {
  return err({ code: "not-found", message: `${kind} "${name}" not found` });
}
