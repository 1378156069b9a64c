import type { ConfigMap, Secret } from "../model/generated/kubernetes.ts";
import type { SourceSnapshot } from "../ports/pod-source.ts";

/** ConfigMaps and Secrets that lie beside the pods in the sources. */
export class LocalObjects {
  readonly #bySource = new Map<string, Pick<SourceSnapshot, "configMaps" | "secrets">>();

  /** Takes a source's complete set; true when it is not the one from before. */
  set(source: string, { configMaps, secrets }: SourceSnapshot): boolean {
    const before = this.#bySource.get(source);
    this.#bySource.set(source, { configMaps, secrets });
    return JSON.stringify(before) !== JSON.stringify({ configMaps, secrets });
  }

  configMap(namespace: string, name: string): ConfigMap | undefined {
    return this.#find(({ configMaps }) => configMaps, namespace, name);
  }

  secret(namespace: string, name: string): Secret | undefined {
    return this.#find(({ secrets }) => secrets, namespace, name);
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
