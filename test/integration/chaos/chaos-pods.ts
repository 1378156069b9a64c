import type { Container, EnvVar, PodSpec } from "../../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../support/agent-manifests.ts";

/** What becomes of a pod that is left alone: its containers run, or it ends, or it fails again and again. */
type Fate = "runs" | "ends" | "crashes";

interface Kind {
  readonly fate: Fate;
  /** `place` is the pod's own number: of a host port, say. */
  readonly spec: (place: number) => PodSpec;
}

/** A pod that a manifest asks for. */
export interface WantedPod {
  readonly name: string;
  /** Identifies an edit of a manifest. */
  readonly version: string;
  readonly fate: Fate;
  /** The names of the containers that run when all is well. */
  readonly running: readonly string[];
  readonly manifest: string;
}

export const versionLabel = "berth.example/version";
/** In the environment of every process of a pod: the names of its pod and its container. */
export const instanceVariable = "CHAOS_INSTANCE";
const firstHostPort = 21_700;
const stubborn = "trap '' TERM; while true; do sleep 3600 & wait; done";
const scratch = { name: "scratch", mountPath: "/scratch" };

const kinds: readonly Kind[] = [
  { fate: "runs", spec: () => ({ containers: [shell("main", untilStopped)] }) },
  {
    fate: "runs",
    spec: () => ({
      containers: [shell("main", untilStopped), shell("stubborn", stubborn)],
      terminationGracePeriodSeconds: 1,
    }),
  },
  {
    fate: "runs",
    spec: () => ({
      initContainers: [
        shell("prepare", "sleep 0.2"),
        shell("beside", untilStopped, { restartPolicy: "Always" }),
      ],
      containers: [shell("main", untilStopped)],
    }),
  },
  {
    fate: "runs",
    spec: (place) => ({
      containers: [
        shell("main", untilStopped, {
          ports: [{ containerPort: 80, hostPort: firstHostPort + place }],
        }),
      ],
    }),
  },
  {
    fate: "runs",
    spec: () => ({
      containers: [
        shell("main", untilStopped, {
          volumeMounts: [
            scratch,
            { name: "memory", mountPath: "/memory" },
            { name: "memory", mountPath: "/part", subPath: "part" },
          ],
        }),
      ],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      ],
    }),
  },
  {
    fate: "runs",
    spec: () => ({
      containers: [
        shell("main", untilStopped, {
          lifecycle: { preStop: { exec: { command: ["sleep", "0.3"] } } },
          readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
        }),
      ],
    }),
  },
  { fate: "runs", spec: () => ({ hostNetwork: true, containers: [shell("main", untilStopped)] }) },
  { fate: "crashes", spec: () => ({ containers: [shell("main", "sleep 0.3; exit 1")] }) },
  {
    fate: "ends",
    spec: () => ({ restartPolicy: "Never", containers: [shell("main", "sleep 0.3")] }),
  },
];

/** A pod of a random kind. */
export function randomPod(place: number, version: string, random: () => number): WantedPod {
  const kind = kinds[Math.floor(random() * kinds.length)] ?? kinds[0];
  if (kind === undefined) throw new Error("there are no kinds of pods");
  const spec = kind.spec(place);
  const name = `pod${place}`;
  const sidecars = (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  return {
    name,
    version,
    fate: kind.fate,
    running:
      kind.fate === "runs"
        ? [...spec.containers, ...sidecars].map((one) => one.name).toSorted()
        : [],
    manifest: JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { [versionLabel]: version } },
      spec: {
        terminationGracePeriodSeconds: 5,
        ...spec,
        initContainers: (spec.initContainers ?? []).map(named),
        containers: spec.containers.map(named),
      },
    }),
  };
}

/** The container, whose processes carry the name of their instance. */
function named(container: Container): Container {
  const field = (name: string, fieldPath: string): EnvVar => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  });
  return {
    ...container,
    env: [
      field("POD_NAME", "metadata.name"),
      { name: instanceVariable, value: `$(POD_NAME)/${container.name}` },
    ],
  };
}
