import type { Container, PodSpec } from "../../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";

/** Prints a line every second until it is stopped. */
const counting = "trap 'exit 0' TERM; n=0; while true; do n=$((n+1)); echo count $n; sleep 1; done";
const serving = `mkdir -p /www; echo ok > /www/index.html; httpd -p 8080 -h /www; ${untilStopped}`;
const quick = { periodSeconds: 1, failureThreshold: 2 };

function main(script: string, more: Partial<Container> = {}): Pick<PodSpec, "containers"> {
  return { containers: [shell("main", script, more)] };
}

function mounts(...names: readonly string[]): Partial<Container> {
  return { volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) };
}

/** Objects that the pods of the zoo use. */
export const zooObjects: readonly object[] = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "zoo" }, data: { word: "map" } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: "zoo" }, stringData: { word: "secret" } },
];

const lasting: Readonly<Record<string, Partial<PodSpec>>> = {
  plain: main(counting),
  pair: { containers: [shell("main", counting), shell("second", untilStopped)] },
  init: { initContainers: [shell("first", "echo first")], ...main(untilStopped) },
  sidecar: {
    initContainers: [shell("side", untilStopped, { restartPolicy: "Always" })],
    ...main(untilStopped),
  },
  "exec-probes": main(untilStopped, {
    startupProbe: { exec: { command: ["true"] }, ...quick },
    readinessProbe: { exec: { command: ["test", "!", "-e", "/tmp/away"] }, ...quick },
    livenessProbe: { exec: { command: ["test", "!", "-e", "/tmp/ill"] }, ...quick },
  }),
  "http-probes": main(serving, {
    readinessProbe: { httpGet: { port: 8080, path: "/" }, ...quick },
    livenessProbe: { httpGet: { port: 8080, path: "/" }, ...quick },
  }),
  "tcp-probes": main(serving, { readinessProbe: { tcpSocket: { port: 8080 }, ...quick } }),
  "never-ready": main(untilStopped, { readinessProbe: { exec: { command: ["false"] }, ...quick } }),
  host: { hostNetwork: true, ...main(untilStopped) },
  guaranteed: main(untilStopped, {
    resources: { limits: { cpu: "50m", memory: "32Mi" }, requests: { cpu: "50m", memory: "32Mi" } },
  }),
  burstable: main(untilStopped, { resources: { requests: { cpu: "20m", memory: "16Mi" } } }),
  scratch: {
    ...main("date +%N > /disk/mark; date +%N > /memory/mark; sleep 3600", mounts("disk", "memory")),
    volumes: [
      { name: "disk", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    ],
    terminationGracePeriodSeconds: 0,
  },
  objects: {
    ...main(untilStopped, {
      ...mounts("map", "secret", "all"),
      env: [{ name: "WORD", valueFrom: { configMapKeyRef: { name: "zoo", key: "word" } } }],
      envFrom: [{ prefix: "S_", secretRef: { name: "zoo" } }],
    }),
    volumes: [
      { name: "map", configMap: { name: "zoo" } },
      { name: "secret", secret: { secretName: "zoo" } },
      {
        name: "all",
        projected: {
          sources: [
            { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
            {
              downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] },
            },
          ],
        },
      },
    ],
  },
  "sub-path": {
    ...main(untilStopped, {
      volumeMounts: [{ name: "map", mountPath: "/etc/word", subPath: "word" }],
    }),
    volumes: [{ name: "map", configMap: { name: "zoo" } }],
  },
  user: {
    securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
    ...main(untilStopped, mounts("disk")),
    volumes: [{ name: "disk", emptyDir: {} }],
  },
  "shared-processes": { shareProcessNamespace: true, ...main(untilStopped) },
  hooks: main(untilStopped, {
    lifecycle: {
      postStart: { exec: { command: ["touch", "/tmp/started"] } },
      preStop: { exec: { command: ["true"] } },
    },
  }),
};

const passing: Readonly<Record<string, Partial<PodSpec>>> = {
  succeeded: { restartPolicy: "Never", ...main("echo done") },
  failed: { restartPolicy: "Never", ...main("echo wrong; exit 4") },
  crashing: main("echo crash; sleep 1; exit 1"),
};

/** Pods of all kinds that keep running, by name. */
export const lastingPods: readonly (readonly [string, Partial<PodSpec>])[] =
  Object.entries(lasting);

/** Pods that have ended or end over and over, by name. */
export const passingPods: readonly (readonly [string, Partial<PodSpec>])[] =
  Object.entries(passing);
