import { containerEnv, expandedCommand } from "../../../src/core/env/container-env.ts";
import { podIps } from "../../../src/core/status/addresses.ts";
import { err, ok, type Result } from "../../../src/lib/result.ts";
import type { ConfigMap, Secret, Service } from "../../../src/model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../../src/model/look-up-failure.ts";
import { findContainer, type Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EnvVarsInput {
  readonly pod: Pod;
  readonly containerName: string;
  readonly podIPs: readonly string[] | null;
  readonly services: readonly Service[] | null;
  readonly configMaps: readonly ConfigMap[] | null;
  readonly secrets: readonly Secret[] | null;
  readonly node: {
    readonly allocatable: Readonly<Record<string, string>>;
    readonly internalIPs: readonly string[];
  };
}

export const envVars: VectorDomain = vectorDomain<EnvVarsInput>("env-vars", (input) => {
  const container = findContainer(input.pod, input.containerName)?.container;
  if (container === undefined) throw new Error(`no container ${input.containerName}`);
  const env = containerEnv(input.pod, container, {
    services: input.services ?? [],
    configMap: lookUp("configmaps", input.configMaps),
    secret: lookUp("secrets", input.secrets),
    envFile: () => undefined,
    podIps: podIps(input.podIPs ?? [], 4),
    hostIps: input.node.internalIPs,
    allocatable: input.node.allocatable,
  });
  if (!env.ok) return { error: env.error };
  const expanded = expandedCommand(container, env.value);
  if (!expanded.ok) return { error: expanded.error };
  const { command, args } = expanded.value;
  return { env: Object.fromEntries(env.value), count: env.value.size, command, args };
});

function lookUp<T extends ConfigMap | Secret>(resource: string, objects: readonly T[] | null) {
  return (namespace: string, name: string): Result<T, LookUpFailure> => {
    const found = objects?.find(
      ({ metadata }) => metadata?.namespace === namespace && metadata.name === name,
    );
    return found === undefined
      ? err({ code: "not-found", message: `${resource} "${name}" not found` })
      : ok(found);
  };
}
