import type { Container } from "../../../../src/model/generated/kubernetes.ts";
import type { Dice } from "../dice.ts";
import type { PodManifest } from "../random-pod.ts";
import { allocatableCpus, resourceClaims, simResources } from "./device-objects.ts";

/** The same pod with devices, CPUs of its own or claims, in most cases. */
export function withDevices(dice: Dice, manifest: PodManifest, inCluster: boolean): PodManifest {
  const more = inCluster ? (["claims", "claims", "claims"] as const) : [];
  const kind = dice.pick(["none", "devices", "cpus", "cpus", "both", ...more] as const);
  switch (kind) {
    case "none":
      return manifest;
    case "claims":
      return withClaims(dice, manifest);
    case "devices":
      return mapContainers(manifest, (each) => withPluginDevices(dice, each));
    case "cpus":
      return mapContainers(manifest, (each) => withOwnCpus(dice, each));
    case "both":
      return mapContainers(manifest, (each) => withPluginDevices(dice, withOwnCpus(dice, each)));
  }
  return manifest;
}

function mapContainers(
  manifest: PodManifest,
  change: (container: Container) => Container,
): PodManifest {
  const { spec } = manifest;
  const initContainers = (spec.initContainers ?? []).map(change);
  return {
    ...manifest,
    spec: { ...spec, initContainers, containers: spec.containers.map(change) },
  };
}

function withPluginDevices(dice: Dice, container: Container): Container {
  if (dice.chance(0.4)) return container;
  const { name } = dice.pick(simResources);
  return withResources(container, { [name]: dice.pick(["1", "1", "2"]) });
}

/** All containers of the pod have limits that are their requests: it is Guaranteed. */
function withOwnCpus(dice: Dice, container: Container): Container {
  const cpu = dice.pick(["1", "1", "2", "3", "200m"]);
  const { resources: _, ...rest } = container;
  return withResources(rest, { cpu, memory: "64Mi" });
}

function withResources(container: Container, more: Readonly<Record<string, string>>): Container {
  const { resources = {} } = container;
  const requests = { ...resources.requests, ...more };
  const limits = { ...resources.limits, ...more };
  return { ...container, resources: { ...resources, requests, limits } };
}

function withClaims(dice: Dice, manifest: PodManifest): PodManifest {
  const used = resourceClaims.filter(() => dice.chance(0.5));
  const changed = mapContainers(manifest, (container) => {
    const claims = used.filter(() => dice.chance(0.6)).map(({ name }) => ({ name }));
    if (claims.length === 0) return container;
    return { ...container, resources: { ...container.resources, claims } };
  });
  const entries = used.map(({ name }) => ({ name, resourceClaimName: name }));
  return { ...changed, spec: { ...changed.spec, resourceClaims: entries } };
}

/** Asks for all that can be handed out. */
export function podWithEverything(name: string): PodManifest {
  const container = (each: string, limits: Readonly<Record<string, string>>): Container => ({
    name: each,
    image: "app:1",
    command: ["serve"],
    resources: { limits: { memory: "64Mi", ...limits } },
  });
  const [gpu, card] = simResources.map((resource) => resource.name);
  const containers = [
    container("one", { cpu: "6", [gpu ?? ""]: "2" }),
    container("other", { cpu: String(allocatableCpus - 6), [gpu ?? ""]: "1", [card ?? ""]: "2" }),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers },
  };
}
