import { writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EnvVar, PodSpec } from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { isRunning, waitingOf } from "./support/image-pods.ts";

function field(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function resource(name: string, wanted: string, divisor: string): EnvVar {
  return { name, valueFrom: { resourceFieldRef: { resource: wanted, divisor } } };
}

function configMapKey(name: string, map: string, key: string, optional?: boolean): EnvVar {
  return { name, valueFrom: { configMapKeyRef: { name: map, key, optional } } };
}

function secretKey(name: string, secret: string, key: string, optional?: boolean): EnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secret, key, optional } } };
}

function fileKey(name: string, path: string, key: string, optional?: boolean): EnvVar {
  return { name, valueFrom: { fileKeyRef: { volumeName: "files", path, key, optional } } };
}

function configMap(name: string, data: Readonly<Record<string, string>>): string {
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
}

function secret(name: string, stringData: Readonly<Record<string, string>>): string {
  const data = Object.fromEntries(
    Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  return JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name }, data });
}

const everyKind: readonly EnvVar[] = [
  { name: "PLAIN", value: "a b" },
  { name: "EMPTY" },
  { name: "EXPANDED", value: "<$(PLAIN) $(MAP_two) $(NONE) $$(PLAIN)>" },
  { name: "MAP_three", value: "overridden" },
  field("POD_NAME", "metadata.name"),
  field("POD_NAMESPACE", "metadata.namespace"),
  field("POD_UID", "metadata.uid"),
  field("LABEL", "metadata.labels['app.example/tier']"),
  field("ANNOTATION", "metadata.annotations['note']"),
  field("NODE_NAME", "spec.nodeName"),
  field("HOST_IP", "status.hostIP"),
  field("POD_IP", "status.podIP"),
  field("POD_IPS", "status.podIPs"),
  resource("CPU_LIMIT", "limits.cpu", "1m"),
  resource("MEMORY_REQUEST", "requests.memory", "1Mi"),
  resource("MEMORY_LIMIT", "limits.memory", "1Ki"),
  configMapKey("KEY_OF_MAP", "values", "two"),
  configMapKey("NO_MAP", "absent", "k", true),
  configMapKey("NO_KEY", "values", "absent", true),
  secretKey("KEY_OF_SECRET", "words", "password"),
  secretKey("NO_SECRET", "absent", "k", true),
  fileKey("FROM_FILE", "made/env", "TOKEN"),
  fileKey("NOT_IN_FILE", "made/env", "OTHER", true),
  { name: "EXPANDED_LATE", value: "$(FROM_FILE)-$(KEY_OF_SECRET)" },
];

describe("the environment of a container", () => {
  let world: AgentWorld;

  beforeAll(async () => {
    world = await AgentWorld.start(82);
  });

  afterAll(async () => {
    await world.close();
  });

  function until(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
    return waitForPod(world.client, world.podName(name), isReached);
  }

  function untilRefused(name: string, message: string): Promise<Pod> {
    return until(name, (pod) => {
      const { reason, message: text } = waitingOf(pod) ?? {};
      return reason === "CreateContainerConfigError" && text === message;
    });
  }

  async function end(file: string, pod: Pod): Promise<void> {
    world.remove(file);
    await waitUntilGone(world.client, pod.metadata.uid);
  }

  async function output(pod: Pod, ...command: readonly string[]): Promise<string> {
    const { main = "" } = await world.containerIds(pod.metadata.uid);
    const answer = await world.runtime.execSync(
      runtimeContainerId(main),
      command,
      60,
      AbortSignal.timeout(60_000),
    );
    return Buffer.from(answer.stdout ?? []).toString();
  }

  /** What the container's first process has, without what the runtime and the image add. */
  async function environmentOf(pod: Pod): Promise<Readonly<Record<string, string>>> {
    const entries = (await output(pod, "cat", "/proc/1/environ"))
      .split("\0")
      .filter((entry) => entry !== "" && !/^(?:PATH|HOME|HOSTNAME)=/.test(entry))
      .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]);
    return Object.fromEntries(entries);
  }

  test("is made of all that a pod can name", async () => {
    world.write("values.json", configMap("values", { one: "1", two: "2 2", three: "3" }));
    world.write("words.json", secret("words", { password: "s3cret$(PLAIN)", user: "root" }));
    const write = "mkdir /files/made && printf \"TOKEN='from a file'\\n\" > /files/made/env";
    const volumeMounts = [{ name: "files", mountPath: "/files" }];
    const spec: Partial<PodSpec> = {
      initContainers: [shell("write", write, { volumeMounts })],
      containers: [
        shell("main", untilStopped, {
          command: ["sh", "-c", untilStopped, "$(PLAIN)", "$(NONE)", "$$(PLAIN)"],
          resources: { limits: { cpu: "250m" }, requests: { memory: "20Mi" } },
          envFrom: [
            { prefix: "MAP_", configMapRef: { name: "values" } },
            { secretRef: { name: "words" } },
            { configMapRef: { name: "absent", optional: true } },
          ],
          env: everyKind,
        }),
      ],
      volumes: [{ name: "files", emptyDir: {} }],
    };
    const pod = JSON.parse(podManifest("env", spec));
    pod.metadata.labels = { "app.example/tier": "front" };
    pod.metadata.annotations = { note: "two\nlines" };
    world.write("env.json", JSON.stringify(pod));
    const running = await until("env", isRunning);
    const { status, metadata } = running;
    const environment = await environmentOf(running);
    const { MEMORY_LIMIT: memoryKibibytes, ...others } = environment;
    expect(others).toEqual({
      PLAIN: "a b",
      EMPTY: "",
      EXPANDED: "<a b 2 2 $(NONE) $(PLAIN)>",
      MAP_one: "1",
      MAP_two: "2 2",
      MAP_three: "overridden",
      password: "s3cret$(PLAIN)",
      user: "root",
      POD_NAME: world.podName("env"),
      POD_NAMESPACE: "default",
      POD_UID: metadata.uid,
      LABEL: "front",
      ANNOTATION: "two\nlines",
      NODE_NAME: "node",
      HOST_IP: status?.hostIP,
      POD_IP: status?.podIP,
      POD_IPS: status?.podIP,
      CPU_LIMIT: "250",
      MEMORY_REQUEST: "20",
      KEY_OF_MAP: "2 2",
      KEY_OF_SECRET: "s3cret$(PLAIN)",
      FROM_FILE: "from a file",
      EXPANDED_LATE: "from a file-s3cret$(PLAIN)",
    });
    // Without a limit it is all that the node has for pods.
    expect(Number(memoryKibibytes)).toBeGreaterThan(0);
    expect(Number(memoryKibibytes)).toBeLessThanOrEqual(totalmem() / 1024);
    const commandLine = (await output(running, "cat", "/proc/1/cmdline")).split("\0");
    expect(commandLine.slice(3, 6)).toEqual(["a b", "$(NONE)", "$(PLAIN)"]);
    await end("env.json", running);
  });

  test("is waited for until what it needs is there", async () => {
    const env = [configMapKey("A", "late", "a"), secretKey("B", "late", "b")];
    const containers = [shell("main", untilStopped, { env })];
    world.write("late.json", podManifest("late", { containers }));
    const waiting = await untilRefused("late", 'configmap "late" not found');
    world.write("late-map.json", configMap("late", { other: "1" }));
    await untilRefused("late", "couldn't find key a in ConfigMap default/late");
    world.write("late-map.json", configMap("late", { a: "from the map" }));
    await untilRefused("late", 'secret "late" not found');
    world.write("late-secret.json", secret("late", { b: "from the secret" }));
    const running = await until("late", isRunning);
    expect(running.metadata.uid).toBe(waiting.metadata.uid);
    expect(await environmentOf(running)).toEqual({ A: "from the map", B: "from the secret" });
    await end("late.json", running);
  });

  test("is not read from outside the volume that a file lies in", async () => {
    const outside = join(world.folder, "outside");
    writeFileSync(outside, "ID='of the node'\n");
    const script = `ln -s ${outside} /files/env && ln -s / /files/root`;
    const volumeMounts = [{ name: "files", mountPath: "/files" }];
    for (const path of ["env", `root${outside}`]) {
      const spec: Partial<PodSpec> = {
        initContainers: [shell("link", script, { volumeMounts })],
        containers: [shell("main", untilStopped, { env: [fileKey("A", path, "ID")] })],
        volumes: [{ name: "files", emptyDir: {} }],
      };
      world.write("outside.json", podManifest("outside", spec));
      const pod = await untilRefused("outside", "couldn't parse env file");
      expect(await world.containerIds(pod.metadata.uid)).not.toHaveProperty("main");
      await end("outside.json", pod);
    }
  });
});
