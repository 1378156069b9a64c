import { expect, test } from "vitest";
import { parseJson } from "../../src/lib/json-parser.ts";
import { parseStaticPod } from "../../src/model/manifest/static-pod.ts";
import type { Pod } from "../../src/model/pod.ts";
import { anyStruct, mutated } from "../kit/any-manifest.ts";
import { seededRandom } from "../kit/seeded-random.ts";
import { Simulation } from "../sim/simulator/simulation.ts";

const container = {
  name: "main",
  image: "app:1",
  command: ["serve", "1"],
  args: ["$(A)"],
  env: [
    { name: "A", value: "b" },
    { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
  ],
  ports: [{ name: "web", containerPort: 80, hostPort: 8080 }],
  resources: { limits: { cpu: "1", memory: "64Mi" }, requests: { cpu: "100m" } },
  volumeMounts: [{ name: "scratch", mountPath: "/scratch", subPath: "a" }],
  readinessProbe: { httpGet: { port: "web", path: "/" }, periodSeconds: 2 },
  livenessProbe: { exec: { command: ["exit", "0"] }, periodSeconds: 2 },
  startupProbe: { tcpSocket: { port: 80 } },
  lifecycle: {
    postStart: { exec: { command: ["exit", "0"] } },
    preStop: { sleep: { seconds: 1 } },
  },
  securityContext: {
    runAsUser: 1000,
    capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
  terminationMessagePolicy: "File",
};
const manifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", labels: { a: "b" }, annotations: { c: "d" } },
  spec: {
    containers: [container],
    initContainers: [{ name: "init", image: "app:1", command: ["exit", "0"] }],
    volumes: [
      { name: "scratch", emptyDir: { sizeLimit: "1Gi", medium: "Memory" } },
      { name: "host", hostPath: { path: "/data" } },
      {
        name: "info",
        downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
      },
      { name: "all", projected: { sources: [{ downwardAPI: { items: [] } }] } },
    ],
    securityContext: { fsGroup: 1000, sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] },
    dnsConfig: { nameservers: ["1.1.1.1"], options: [{ name: "ndots", value: "2" }] },
    hostAliases: [{ ip: "127.0.0.1", hostnames: ["a"] }],
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 5,
    topologySpreadConstraints: [],
    restartPolicy: "Always",
  },
};
const podType = { kind: "struct", name: "Pod", struct: "Pod" } as const;
const origin = { kind: "file", path: "/manifests/web.json" } as const;
const parseOptions = {
  nodeName: "sim-node",
  origin,
  allowedReferences: "none",
  isResizable: true,
} as const;

function anyManifest(random: () => number): unknown {
  let pod: unknown = manifest;
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes; change += 1) pod = mutated(random, pod, podType);
  if (random() < 0.9) return pod;
  return { ...manifest, spec: anyStruct(random, "PodSpec", 5) };
}

/** Undefined when it is refused. */
function parse(value: unknown): Pod | undefined {
  const node = parseJson(JSON.stringify(value));
  if (!node.ok) return undefined;
  const pod = parseStaticPod(node.value, parseOptions);
  return pod.ok ? pod.value : undefined;
}

/** More of them by hand: BERTH_MANIFESTS=100000. */
const runs = Number(process.env["BERTH_MANIFESTS"] ?? 3000);

test("a resource of the name __proto__ is refused like any other that does not exist", () => {
  const resources = JSON.parse('{"requests":{"__proto__":"1"},"limits":{"cpu":"1"}}') as object;
  const containers = [{ ...container, resources }];
  expect(parse({ ...manifest, spec: { ...manifest.spec, containers } })).toBeUndefined();
  expect(parse(manifest)).toBeDefined();
});

test("no manifest makes parsing, defaults or validation throw", () => {
  const random = seededRandom(1);
  const thrown = new Map<string, string>();
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const value = anyManifest(random);
    try {
      if (parse(value) !== undefined) accepted += 1;
    } catch (error) {
      const stack = error instanceof Error ? (error.stack ?? "") : String(error);
      thrown.set(stack.split("\n").slice(0, 3).join(" "), JSON.stringify(value));
    }
  }
  expect([...thrown]).toEqual([]);
  expect(accepted).toBeGreaterThan(runs / 20);
});

test("no manifest that is accepted makes a decision about the pod throw", async () => {
  const random = seededRandom(2);
  const unexpected = new Set<string>();
  for (let run = 0; run < runs / 300; run += 1) {
    const sim = new Simulation(run, {});
    const pods: string[] = [];
    while (pods.length < 12) {
      const name = `pod-${pods.length}`;
      const value = anyManifest(random) as { readonly metadata?: object } | null;
      const metadata = { ...value?.metadata, name, namespace: "default" };
      const named = { ...value, metadata, status: undefined };
      if (parse(named) === undefined) continue;
      pods.push(JSON.stringify(named));
      sim.manifests.write(name, named as never);
    }
    sim.startAgent();
    await sim.advance(15_000);
    for (const file of sim.manifests.files) sim.manifests.remove(file);
    await sim.advance(15_000);
    for (const line of sim.trace) {
      if (/unexpected error|TypeError|RangeError/.test(line)) unexpected.add(line.slice(11, 900));
    }
    sim.killAgent("after all", 0);
    await sim.advance(1);
  }
  expect([...unexpected]).toEqual([]);
});
