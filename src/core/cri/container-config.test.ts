import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import {
  type ContainerConfig,
  NamespaceMode,
  SecurityProfile_ProfileType,
  Signal,
} from "../../model/generated/cri.ts";
import type { Container, PodSpec } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { containerConfig } from "./container-config.ts";
import type { ContainerInputs } from "./container-inputs.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";
import { usersBeyondTheNodes, usualUsersPerPod } from "./user-namespace.ts";

const settings: RuntimeSettings = {
  podLogsRoot: "/var/log/pods",
  seccompProfileRoot: "/var/lib/kubelet/seccomp",
  seccompDefault: false,
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsPeriodUs: 100_000,
  singleProcessOomKill: false,
  memoryCapacityBytes: 1000 * 2 ** 20,
  swap: { controllerAvailable: false, behavior: "NoSwap", capacityBytes: 0 },
  hugePageSizes: ["2MB", "1GB"],
  extraMaskedPaths: [],
  seLinux: undefined,
  podUsers: usersBeyondTheNodes(usualUsersPerPod),
  containerStopSignals: true,
};

interface Wanted {
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly inputs?: Partial<ContainerInputs>;
  readonly settings?: Partial<RuntimeSettings>;
}

function configure(wanted: Wanted) {
  const container: Container = { name: "app", image: "busybox", ...wanted.container };
  const pod: Pod = buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u", annotations: wanted.annotations ?? {} },
    spec: { containers: [container], ...wanted.spec },
  });
  return containerConfig(
    {
      pod,
      container,
      restartCount: 0,
      imageRef: "ref",
      imageUser: { uid: 0n, username: "" },
      environment: new Map(),
      mounts: [],
      ...wanted.inputs,
    },
    { ...settings, ...wanted.settings },
  );
}

function made(wanted: Wanted): ContainerConfig {
  const config = configure(wanted);
  if (!config.ok) throw new Error(config.error);
  return config.value;
}

test.each([
  [{}, { pid: NamespaceMode.TARGET, targetId: "abc" }],
  [{ shareProcessNamespace: true }, { pid: NamespaceMode.POD }],
])("with %j an ephemeral container has the namespaces %j", (spec, options) => {
  const { linux } = made({ spec, inputs: { targetContainerId: "abc" } });
  expect(linux?.securityContext?.namespaceOptions).toMatchObject(options);
});

test("every mount maps ids where the pod has a user namespace", () => {
  const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  const { mounts } = made({
    container: { terminationMessagePath: "dev/log" },
    inputs: {
      mounts: [{ hostPath: "/v", containerPath: "/v", selinuxRelabel: true }],
      terminationLogPath: "/pods/u/containers/app/0a",
      userNamespace: { mode: NamespaceMode.POD, uids: ids, gids: ids },
    },
  });
  expect(mounts).toMatchObject([
    { containerPath: "/v", selinuxRelabel: false, uidMappings: ids, gidMappings: ids },
    { containerPath: "/dev/log", hostPath: "/pods/u/containers/app/0a", uidMappings: ids },
  ]);
});

test("an out-of-memory kill takes the whole container on cgroup v2", () => {
  expect(made({}).linux?.resources?.unified).toEqual({ "memory.oom.group": "1" });
  expect(made({ settings: { cgroupVersion: 1 } }).linux?.resources?.unified).toBeUndefined();
});

test("a burstable container gets swap in proportion to the memory it asked for", () => {
  const swap = { controllerAvailable: true, behavior: "LimitedSwap", capacityBytes: 1000 } as const;
  const unified = (container: Partial<Container>) =>
    made({ container, settings: { swap } }).linux?.resources?.unified?.["memory.swap.max"];
  expect(unified({ resources: { requests: { memory: "100Mi" } } })).toBe("100");
  expect(unified({})).toBe("0");
  const equal = { memory: "100Mi" };
  expect(unified({ resources: { requests: equal, limits: equal } })).toBe("0");
});

test("MemoryQoS adds to what a container has on cgroup v2, and nothing on v1", () => {
  const memoryQos = { reservesRequests: false, throttlingFactor: 0.5, reservedBytes: 0n };
  const container = { resources: { limits: { memory: "2Mi" }, requests: { memory: "1Mi" } } };
  const unified = (cgroupVersion: 1 | 2) =>
    made({ container, settings: { memoryQos, cgroupVersion } }).linux?.resources?.unified;
  expect(unified(2)).toEqual({
    "memory.oom.group": "1",
    "memory.min": "0",
    "memory.low": "0",
    "memory.high": "1572864",
  });
  expect(unified(1)).toBeUndefined();
});

test("cgroup v1 forbids swap by limiting memory and swap together", () => {
  const swap = { controllerAvailable: true, behavior: "LimitedSwap", capacityBytes: 1000 } as const;
  const { linux } = made({
    container: { resources: { limits: { memory: "1Mi" } } },
    settings: { swap, cgroupVersion: 1 },
  });
  expect(linux?.resources?.memorySwapLimitInBytes).toBe(1_048_576n);
});

test("huge pages are limited by the container, else by the pod, else to none", () => {
  const { linux } = made({
    container: { resources: { limits: { "hugepages-2Mi": "4Mi" } } },
    spec: { resources: { limits: { "hugepages-1Gi": "2Gi", "hugepages-2Mi": "8Mi" } } },
  });
  expect(linux?.resources?.hugepageLimits).toEqual([
    { pageSize: "2MB", limit: 4_194_304n },
    { pageSize: "1GB", limit: 2_147_483_648n },
  ]);
});

test("a container without limits has those of the pod", () => {
  const { linux } = made({ spec: { resources: { limits: { cpu: "500m", memory: "1Mi" } } } });
  expect(linux?.resources).toMatchObject({ cpuQuota: 50_000n, memoryLimitInBytes: 1_048_576n });
});

test("own CPUs are not throttled", () => {
  const { linux } = made({
    container: { resources: { limits: { cpu: "1" } } },
    inputs: { place: { cpusetCpus: "", cpusetMems: "", hasExclusiveCpus: true } },
  });
  expect(linux?.resources).toMatchObject({ cpuQuota: -1n, cpuShares: 1024n });
});

test("stop signals are translated where the feature is on", () => {
  const container = { lifecycle: { stopSignal: "SIGRTMIN+3" } };
  expect(made({ container }).stopSignal).toBe(Signal.SIGRTMINPLUS3);
  expect(made({ container, settings: { containerStopSignals: false } }).stopSignal).toBeUndefined();
});

test("a static pod's AppArmor annotation counts, but the field goes first", () => {
  const annotations = { "container.apparmor.security.beta.kubernetes.io/app": "localhost/strict" };
  const localhost = { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: "strict" };
  expect(made({ annotations }).linux?.securityContext).toMatchObject({
    apparmor: localhost,
    apparmorProfile: "localhost/strict",
  });
  const securityContext = { appArmorProfile: { type: "Unconfined" } };
  expect(
    made({ annotations, container: { securityContext } }).linux?.securityContext,
  ).toMatchObject({ apparmorProfile: "unconfined" });
});

test("an AppArmor annotation without a profile's name is refused", () => {
  const annotations = { "container.apparmor.security.beta.kubernetes.io/app": "localhost/" };
  expect(configure({ annotations })).toEqual({
    ok: false,
    error: "invalid empty AppArmor profile name",
  });
});

test.each([
  [
    { seccompProfile: { type: "Localhost" } },
    "localhostProfile must be set if seccompProfile type is Localhost.",
  ],
  [{ appArmorProfile: { type: "Localhost" } }, "missing localhost apparmor profile name"],
  [
    { appArmorProfile: { type: "Localhost", localhostProfile: " " } },
    "invalid empty AppArmor profile name",
  ],
  [{ appArmorProfile: { type: "Odd" } }, 'unknown apparmor profile type: "Odd"'],
])("refuses the security context %j", (securityContext, error) => {
  expect(configure({ container: { securityContext } })).toEqual({ ok: false, error });
});

test("refuses a policy for groups that no runtime knows", () => {
  const securityContext = { supplementalGroupsPolicy: "Both" };
  expect(configure({ spec: { securityContext } })).toEqual({
    ok: false,
    error: "unsupported supplementalGroupsPolicy: Both",
  });
});

test("refuses an image user that is not a user id where root is forbidden", () => {
  const securityContext = { runAsNonRoot: true };
  const imageUser = { uid: 2n ** 31n, username: "" };
  expect(configure({ container: { securityContext }, inputs: { imageUser } })).toEqual({
    ok: false,
    error:
      'container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive (pod: "p_ns(u)", container: app)',
  });
});

test.each([2n ** 31n, 2n ** 32n, -1n])(
  "refuses the image user %s where root is allowed, too",
  (uid) => {
    expect(configure({ inputs: { imageUser: { uid, username: "" } } })).toEqual({
      ok: false,
      error: `image has an invalid user id (${uid}): must be between 0 and 2147483647, inclusive`,
    });
  },
);

test("the stored hook has the order and the escapes of the kubelet", () => {
  const httpGet = {
    scheme: "HTTPS",
    httpHeaders: [{ value: "<v>", name: "n" }],
    port: "web",
    path: "/x",
  };
  const { annotations } = made({ container: { lifecycle: { preStop: { httpGet } } } });
  expect(annotations?.["io.kubernetes.container.preStopHandler"]).toBe(
    '{"httpGet":{"path":"/x","port":"web","scheme":"HTTPS","httpHeaders":[{"name":"n","value":"\\u003cv\\u003e"}]}}',
  );
});
