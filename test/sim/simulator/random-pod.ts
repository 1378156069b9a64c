import type {
  Container,
  PodSpec,
  Probe,
  ResourceRequirements,
} from "../../../src/model/generated/kubernetes.ts";
import type { Dice } from "./dice.ts";

export interface PodManifest {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: Partial<PodSpec> & Pick<PodSpec, "containers">;
}

/** The last word of every preStop command; programs do not read it. */
export const preStopMark = "preStop";

export const images: readonly string[] = ["app:1", "app:2", "tools:1"];
const longCommands = [["serve"], ["serve", "2"], ["serve", "8"], ["stubborn"], ["run"]];
const shortCommands = [
  ["exit", "0"],
  ["exit", "1"],
  ["sleep", "3"],
  ["sleep", "40"],
];

/** A pod of any kind of containers, with hooks, probes and volumes. */
export function randomPod(dice: Dice, name: string): PodManifest {
  const restartPolicy = dice.pick(["Always", "Always", "OnFailure", "Never"]);
  const volumes = randomVolumes(dice);
  const container = (each: string, commands: readonly (readonly string[])[]): Container => ({
    name: each,
    image: dice.pick(images),
    imagePullPolicy: dice.pick(["IfNotPresent", "IfNotPresent", "Always"]),
    command: dice.pick(commands),
    ...(dice.chance(0.3) ? { resources: randomResources(dice) } : {}),
    volumeMounts: volumes
      .filter(() => dice.chance(0.5))
      .map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
  });
  const inits = Array.from({ length: dice.pick([0, 0, 0, 1, 2]) }, (_, index) => {
    const isSidecar = dice.chance(0.4);
    const init = container(`init-${index}`, isSidecar ? longCommands : shortCommands);
    return isSidecar ? { ...withExtras(dice, init), restartPolicy: "Always" } : init;
  });
  const regular = Array.from({ length: dice.pick([1, 1, 2, 3]) }, (_, index) =>
    withExtras(dice, container(`main-${index}`, dice.chance(0.7) ? longCommands : shortCommands)),
  );
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: dice.pick([0, 1, 5, 30]),
      initContainers: inits,
      containers: regular,
      volumes,
    },
  };
}

/** The same containers with other resources: those that run are resized. */
export function resizedContainers(
  dice: Dice,
  containers: readonly Container[],
): readonly Container[] {
  return containers.map((container) => {
    const { resources } = container;
    const { requests = {}, limits = {} } = resources ?? {};
    // Neither what none was asked for is resized, nor what a container has for itself.
    if (requests["cpu"] === undefined || requests["cpu"] === limits["cpu"]) return container;
    const random = randomResources(dice);
    return {
      ...container,
      resources: {
        ...resources,
        requests: { ...requests, ...random.requests },
        limits: { ...limits, ...random.limits },
      },
    };
  });
}

function randomResources(dice: Dice): ResourceRequirements {
  const cpu = dice.pick(["100m", "200m", "500m"]);
  const memory = dice.pick(["64Mi", "128Mi", "256Mi"]);
  return { requests: { cpu, memory }, limits: { cpu: "1", memory } };
}

const nameItems = [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }];

function randomVolumes(dice: Dice): NonNullable<PodSpec["volumes"]> {
  const kinds = [
    { emptyDir: {} },
    { emptyDir: { medium: "Memory" } },
    { downwardAPI: { items: nameItems } },
    { projected: { sources: [{ downwardAPI: { items: nameItems } }] } },
    { hostPath: { path: "/data" } },
  ];
  return kinds
    .filter(() => dice.chance(0.3))
    .map((kind, index) => ({ name: `volume-${index}`, ...kind }));
}

function withExtras(dice: Dice, container: Container): Container {
  return {
    ...container,
    ...(dice.chance(0.25) ? { lifecycle: randomHooks(dice) } : {}),
    ...(dice.chance(0.3) ? { readinessProbe: randomProbe(dice) } : {}),
    ...(dice.chance(0.2) ? { livenessProbe: randomProbe(dice) } : {}),
    ...(dice.chance(0.15) ? { startupProbe: { ...randomProbe(dice), failureThreshold: 5 } } : {}),
  };
}

function randomHooks(dice: Dice): NonNullable<Container["lifecycle"]> {
  const hook = (name: string) => ({
    exec: {
      command: [
        ...dice.pick([
          ["exit", "0"],
          ["sleep", "2"],
          ["exit", "1"],
        ]),
        name,
      ],
    },
  });
  return {
    ...(dice.chance(0.4) ? { postStart: hook("postStart") } : {}),
    ...(dice.chance(0.7) ? { preStop: hook(preStopMark) } : {}),
  };
}

function randomProbe(dice: Dice): Probe {
  return {
    exec: {
      command: dice.pick([
        ["exit", "0"],
        ["exit", "0"],
        ["exit", "1"],
      ]),
    },
    periodSeconds: dice.pick([1, 2, 10]),
    initialDelaySeconds: dice.pick([0, 0, 3]),
    timeoutSeconds: 1,
  };
}
