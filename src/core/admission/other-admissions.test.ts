import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { PodSpec } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { admitAppArmor } from "./app-armor-admission.ts";
import { admitFeatures } from "./feature-admission.ts";
import { admitSysctls, parseSysctlAllowlist, safeSysctlNames } from "./sysctl-admission.ts";

function pod(spec: Partial<PodSpec>, annotations: Readonly<Record<string, string>> = {}): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u", annotations },
    spec: { containers: [{ name: "app" }], ...spec },
    status: { phase: "Pending" },
  });
}

function sysctls(name: string, spec: Partial<PodSpec> = {}, value = "1") {
  const allowlist = parseSysctlAllowlist([...safeSysctlNames("6.1.0-13-amd64"), "net.core.*"]);
  if (!allowlist.ok) throw new Error(allowlist.error);
  const securityContext = { sysctls: [{ name, value }] };
  return admitSysctls(pod({ ...spec, securityContext }), allowlist.value);
}

test.each(["kernel.shm_rmid_forced", "net/ipv4/tcp_rmem", "net.core.somaxconn"])(
  "a pod may set %s",
  (name) => {
    expect(sysctls(name)).toEqual({ admit: true });
  },
);

test.each([
  ["kernel.msgmax", {}, '"kernel.msgmax" not allowlisted'],
  ["net.core.x", { hostNetwork: true }, '"net.core.x" not allowed with host Net enabled'],
  [
    "kernel/shm_rmid_forced",
    { hostIPC: true },
    '"kernel.shm_rmid_forced" not allowed with host IPC enabled',
  ],
])("a pod may not set %s with %j", (name, spec, why) => {
  expect(sysctls(name, spec)).toEqual({
    admit: false,
    reason: "SysctlForbidden",
    message: `forbidden sysctl: ${why}`,
  });
});

test.each(["1+kernel.core_pattern=|/bin/sh", "1\nkernel.core_pattern=|/bin/sh", "1\0", "1\u0085"])(
  "a value that could set more than itself is refused: %j",
  (value) => {
    expect(sysctls("kernel.shm_rmid_forced", {}, value)).toMatchObject({
      admit: false,
      reason: "SysctlForbidden",
    });
  },
);

test("old kernels share settings that newer ones do not", () => {
  expect(safeSysctlNames("3.10.0")).not.toContain("net.ipv4.ip_local_reserved_ports");
  expect(safeSysctlNames("4.15.0")).toContain("net.ipv4.tcp_wmem");
});

test.each([
  ["vm.swappiness", 'the sysctls "vm.swappiness" are not known to be namespaced'],
  ["Net.Core", 'sysctl "Net.Core" must have at most 253 characters and match regex '],
])("the pattern %s cannot be allowed", (pattern, why) => {
  const parsed = parseSysctlAllowlist([pattern]);
  expect(parsed.ok ? "" : parsed.error).toContain(why);
});

test("AppArmor is asked of the host only by pods that want it and have not started", () => {
  const confined = pod({ securityContext: { appArmorProfile: { type: "RuntimeDefault" } } });
  const refusal = {
    admit: false,
    reason: "AppArmor",
    message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
  };
  expect(admitAppArmor(confined, false)).toEqual(refusal);
  expect(admitAppArmor(confined, true)).toEqual({ admit: true });
  expect(admitAppArmor({ ...confined, status: { phase: "Running" } }, false)).toEqual({
    admit: true,
  });
  expect(admitAppArmor(pod({}), false)).toEqual({ admit: true });
});

test("a local AppArmor profile needs a name", () => {
  const annotations = { "container.apparmor.security.beta.kubernetes.io/app": "localhost/" };
  expect(admitAppArmor(pod({}, annotations), true)).toMatchObject({
    message:
      'Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:*,}"',
  });
});

test("a pod is refused by the names of the features that the node lacks", () => {
  const needy = pod({
    containers: [{ name: "app", restartPolicyRules: [{ action: "RestartAllContainers" }] }],
    hostNetwork: true,
    hostUsers: false,
  });
  expect(admitFeatures(needy, ["RestartAllContainersOnContainerExits"])).toEqual({
    admit: false,
    reason: "PodFeatureUnsupported",
    message: "Pod requires node features that are not available: UserNamespacesHostNetworkSupport",
  });
  expect(admitFeatures(pod({}), [])).toEqual({ admit: true });
});
