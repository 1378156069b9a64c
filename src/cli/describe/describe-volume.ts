import type {
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from "../../model/generated/kubernetes.ts";
import type { Outline } from "./outline.ts";

type Lines = readonly (readonly [key: string, value: string])[];

export function describeVolumes(out: Outline, volumes: readonly Volume[]): void {
  if (volumes.length === 0) {
    out.line(0, "Volumes:", "<none>");
    return;
  }
  out.line(0, "Volumes:");
  for (const volume of volumes) {
    out.line(1, `${volume.name}:`);
    for (const [key, value] of volumeLines(volume)) out.line(2, `${key}:`, value);
  }
}

function volumeLines(volume: Volume): Lines {
  const { hostPath, emptyDir, secret, configMap, projected, downwardAPI } = volume;
  if (hostPath !== undefined) {
    return [
      ["Type", "HostPath (bare host directory volume)"],
      ["Path", hostPath.path],
      ["HostPathType", hostPath.type ?? "<none>"],
    ];
  }
  if (emptyDir !== undefined) {
    return [
      ["Type", "EmptyDir (a temporary directory that shares a pod's lifetime)"],
      ["Medium", emptyDir.medium ?? ""],
      ["SizeLimit", emptyDir.sizeLimit ?? "<unset>"],
    ];
  }
  if (secret !== undefined) {
    return [
      ["Type", "Secret (a volume populated by a Secret)"],
      ["SecretName", secret.secretName ?? ""],
      ["Optional", String(secret.optional ?? false)],
    ];
  }
  if (configMap !== undefined) {
    return [
      ["Type", "ConfigMap (a volume populated by a ConfigMap)"],
      ["Name", configMap.name ?? ""],
      ["Optional", String(configMap.optional ?? false)],
    ];
  }
  if (projected !== undefined) return projectedLines(projected);
  if (downwardAPI !== undefined) {
    return [
      ["Type", "DownwardAPI (a volume populated by information about the pod)"],
      ...(downwardAPI.items ?? []).map(
        ({ path, fieldRef, resourceFieldRef }) =>
          [
            "Items",
            `${fieldRef?.fieldPath ?? resourceFieldRef?.resource ?? ""} -> ${path}`,
          ] as const,
      ),
    ];
  }
  return otherLines(volume);
}

function projectedLines({ sources = [] }: ProjectedVolumeSource): Lines {
  return [
    ["Type", "Projected (a volume that contains injected data from multiple sources)"],
    ...sources.flatMap(projectionLines),
  ];
}

function projectionLines(source: VolumeProjection): Lines {
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) {
    return [
      ["SecretName", secret.name ?? ""],
      ["Optional", String(secret.optional ?? false)],
    ];
  }
  if (configMap !== undefined) {
    return [
      ["ConfigMapName", configMap.name ?? ""],
      ["Optional", String(configMap.optional ?? false)],
    ];
  }
  if (downwardAPI !== undefined) return [["DownwardAPI", "true"]];
  if (serviceAccountToken !== undefined) {
    return [["TokenExpirationSeconds", String(serviceAccountToken.expirationSeconds ?? 3600)]];
  }
  return [];
}

/** Kinds that have no words of their own here are shown by their fields. */
function otherLines(volume: Volume): Lines {
  const [kind, source] =
    Object.entries(volume).find(([key, value]) => key !== "name" && value !== undefined) ?? [];
  if (kind === undefined || typeof source !== "object" || source === null) {
    return [["Type", "<unknown>"]];
  }
  return [
    ["Type", kind],
    ...Object.entries(source).map(
      ([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)] as const,
    ),
  ];
}
