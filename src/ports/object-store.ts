import type { Result } from "../lib/result.ts";
import type { ConfigMap, RuntimeClass, Secret, Service } from "../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../model/look-up-failure.ts";

/** The config maps and secrets that pods refer to, as last read from the manifest folder or the cluster. */
export interface ObjectStore {
  configMap(namespace: string, name: string): Result<ConfigMap, LookUpFailure>;
  secret(namespace: string, name: string): Result<Secret, LookUpFailure>;
}

/** The services that pods find in their environment. */
export interface ServiceStore {
  /** Undefined until they were read once. */
  readonly services: readonly Service[] | undefined;
}

/** The runtime classes that pods refer to. */
export interface RuntimeClassStore {
  runtimeClass(name: string): Result<RuntimeClass, LookUpFailure>;
}
