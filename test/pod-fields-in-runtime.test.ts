// What no recorded answer covers: fields of ephemeral containers and single fields, seen by the runtime.
import { expect, test } from "vitest";
import { containerConfig } from "../src/core/cri/container-config.ts";
import { sandboxConfig } from "../src/core/cri/sandbox-config.ts";
import { containerEnv } from "../src/core/env/container-env.ts";
import { containerMounts } from "../src/core/mount/container-mounts.ts";
import { containerOomScoreAdjust } from "../src/core/resource/oom-score.ts";
import { defaultPod } from "../src/model/defaults/default-pod.ts";
import type { ContainerConfig } from "../src/model/generated/cri.ts";
import type { EphemeralContainer, PodSpec } from "../src/model/generated/kubernetes.ts";
import { containerTerminationMessagePolicyAnnotation } from "../src/model/labels.ts";
import type { Pod } from "../src/model/pod.ts";
import { testPod } from "./kit/pods.ts";
import { ExecutorWorld } from "./sim/executor-world.ts";
import { simSettings } from "./sim/sim-pod-configs.ts";

function podOf(spec: Partial<PodSpec>): Pod {
  const containers = [{ name: "main", image: "example.com/app:1" }];
  return testPod({ enableServiceLinks: false, containers, ...spec });
}

/** The runtime's config of an ephemeral container, with its own environment and mounts. */
function configOf(container: EphemeralContainer): ContainerConfig {
  const pod = podOf({ ephemeralContainers: [container] });
  const configMap = () =>
    ({ ok: true, value: { metadata: { name: "m" }, data: { SHOWN: "yes" } } }) as const;
  const missing = () => ({ ok: false, error: { code: "not-found", message: "missing" } }) as const;
  const environment = mustBeOk(
    containerEnv(pod, container, {
      services: [],
      configMap,
      secret: missing,
      envFile: () => undefined,
      podIps: [],
      hostIps: [],
      allocatable: {},
    }),
  );
  const disk = {
    kind: "emptyDir",
    path: "/disk",
    readOnly: false,
    managed: true,
    selinuxRelabel: false,
    selinuxLabeled: false,
  };
  const mounts = mustBeOk(
    containerMounts({
      pod,
      container,
      podIps: [],
      volumes: new Map([["disk", disk]]),
      environment,
      supportsRecursiveReadOnly: false,
      dataRoot: "/data",
    }),
  );
  const inputs = {
    pod,
    container,
    restartCount: 0,
    imageRef: "ref",
    imageUser: { uid: 0n, username: "" },
    environment,
    mounts,
    terminationLogPath: "/data/words",
  };
  return mustBeOk(containerConfig(inputs, simSettings));
}

function mustBeOk<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: unknown },
): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

test("an ephemeral container has all that a container has, but for what the API forbids it", () => {
  const config = configOf({
    name: "debug",
    image: "example.com/tools:1",
    command: ["sh", "-c"],
    args: ["echo $(WORD)"],
    workingDir: "/work",
    env: [{ name: "WORD", value: "hello" }],
    envFrom: [{ prefix: "MAP_", configMapRef: { name: "m" } }],
    securityContext: { runAsUser: 7, readOnlyRootFilesystem: true },
    stdin: true,
    stdinOnce: true,
    tty: true,
    terminationMessagePath: "/words",
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [{ name: "disk", mountPath: "/mnt", readOnly: true }],
  });
  expect(config).toMatchObject({
    metadata: { name: "debug" },
    image: { userSpecifiedImage: "example.com/tools:1" },
    command: ["sh", "-c"],
    args: ["echo hello"],
    workingDir: "/work",
    stdin: true,
    stdinOnce: true,
    tty: true,
    mounts: [
      { hostPath: "/disk", containerPath: "/mnt", readonly: true },
      { hostPath: "/data/words", containerPath: "/words" },
    ],
    annotations: { [containerTerminationMessagePolicyAnnotation]: "FallbackToLogsOnError" },
    linux: { securityContext: { runAsUser: { value: 7n }, readonlyRootfs: true } },
  });
  expect(config.envs?.map(({ key }) => key)).toEqual(["MAP_SHOWN", "WORD"]);
});

test("an ephemeral container's imagePullPolicy decides whether its image is pulled", async () => {
  const world = new ExecutorWorld();
  const image = "example.com/tools:1";
  const debug = { name: "debug", image, imagePullPolicy: "Never" };
  const pod = podOf({ ephemeralContainers: [debug] });
  await world.sync(pod);
  const reports = await world.sync(pod);
  const failures = reports.flatMap(({ target, failure }) =>
    failure ? [[target, failure.code]] : [],
  );
  expect(failures).toEqual([["debug", "ErrImageNeverPull"]]);
});

test("a pod's seLinuxOptions are its sandbox's, and its containers' unless they have their own", () => {
  const seLinuxOptions = { user: "u", role: "r", type: "t", level: "s0" };
  const pod = podOf({ securityContext: { seLinuxOptions } });
  const sandbox = sandboxConfig(
    { pod, attempt: 0, dns: undefined, hostname: "web", cgroupParent: "/pods" },
    simSettings,
  );
  expect(mustBeOk(sandbox).linux?.securityContext?.selinuxOptions).toEqual(seLinuxOptions);
  const [container = { name: "" }] = pod.spec.containers;
  const inputs = { pod, container, restartCount: 0, imageRef: "ref", environment: new Map() };
  const config = containerConfig(
    { ...inputs, imageUser: { uid: 0n, username: "" }, mounts: [] },
    simSettings,
  );
  expect(mustBeOk(config).linux?.securityContext?.selinuxOptions).toEqual(seLinuxOptions);
});

test("a critical pod of the node's own priorityClassName is killed last when memory runs out", () => {
  const priority = 2_000_001_000;
  const adjust = (spec: Partial<PodSpec>) =>
    containerOomScoreAdjust(podOf(spec), { name: "main" }, 1024 ** 3);
  expect(adjust({ priority, priorityClassName: "system-node-critical" })).toBe(-997);
  expect(adjust({ priority, priorityClassName: "system-cluster-critical" })).toBe(1000);
});

test("the old name serviceAccount means serviceAccountName", () => {
  const { spec } = defaultPod({ spec: { containers: [], serviceAccount: "robot" } });
  expect(spec).toMatchObject({ serviceAccount: "robot", serviceAccountName: "robot" });
});
