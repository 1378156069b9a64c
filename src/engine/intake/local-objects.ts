import { err, ok, type Result } from "../../lib/result.ts";
import type { ConfigMap, RuntimeClass, Secret, Service } from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import type { SourceSnapshot } from "../../ports/pod-source.ts";

type Objects = Required<Pick<SourceSnapshot, "configMaps" | "secrets" | "runtimeClasses">>;

/** ConfigMaps, Secrets and RuntimeClasses that lie beside the pods in the sources. */
export class LocalObjects implements ObjectStore, RuntimeClassStore, ServiceStore {
  /** Manifests hold none. */
  readonly services: readonly Service[] = [];
  readonly #bySource = new Map<string, Objects>();

  /** Takes a source's complete set; true when it is not the one from before. */
  set(source: string, { configMaps, secrets, runtimeClasses = [] }: SourceSnapshot): boolean {
    const before = this.#bySource.get(source);
    const objects = { configMaps, secrets, runtimeClasses };
    this.#bySource.set(source, objects);
    return JSON.stringify(before) !== JSON.stringify(objects);
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
