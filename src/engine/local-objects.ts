import { err, ok, type Result } from "../lib/result.ts";
import type { ConfigMap, Secret } from "../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../model/look-up-failure.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { SourceSnapshot } from "../ports/pod-source.ts";

/** ConfigMaps and Secrets that lie beside the pods in the sources. */
export class LocalObjects implements ObjectStore {
  readonly #bySource = new Map<string, Pick<SourceSnapshot, "configMaps" | "secrets">>();

  /** Takes a source's complete set; true when it is not the one from before. */
  set(source: string, { configMaps, secrets }: SourceSnapshot): boolean {
    const before = this.#bySource.get(source);
    this.#bySource.set(source, { configMaps, secrets });
    return JSON.stringify(before) !== JSON.stringify({ configMaps, secrets });
  }

  configMap(namespace: string, name: string): Result<ConfigMap, LookUpFailure> {
    const found = this.#find(({ configMaps }) => configMaps, namespace, name);
    return found === undefined ? notFound("configmap", name) : ok(found);
  }

  secret(namespace: string, name: string): Result<Secret, LookUpFailure> {
    const found = this.#find(({ secrets }) => secrets, namespace, name);
    return found === undefined ? notFound("secret", name) : ok(found);
  }

  #find<T extends ConfigMap | Secret>(
    list: (objects: Pick<SourceSnapshot, "configMaps" | "secrets">) => readonly T[],
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
