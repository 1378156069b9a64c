import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import type { PodSpec, Sysctl } from "../../src/model/generated/kubernetes.ts";
import { printedInside, waitForEnd } from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { findCgroups } from "./support/leftovers.ts";

const withSysctls = (...sysctls: readonly Sysctl[]): Partial<PodSpec> => ({
  securityContext: { sysctls },
});

describe("what the node lets pods set", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(72);
  });
  afterAll(() => world.close());

  const refused = async (name: string, spec: Partial<PodSpec>): Promise<string> => {
    world.write(`${name}.json`, podManifest(name, spec));
    const { status } = await waitForEnd(world, name);
    world.remove(`${name}.json`);
    expect(status).toMatchObject({ phase: "Failed", reason: "SysctlForbidden" });
    return status?.message ?? "";
  };

  test("safe sysctls are the pod's own, also with slashes", async () => {
    const portsBefore = execFileSync("cat", ["/proc/sys/net/ipv4/ip_local_port_range"]);
    const printed = await printedInside(
      world,
      "safe",
      "cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/kernel/shm_rmid_forced",
      {
        spec: withSysctls(
          { name: "net/ipv4/ip_local_port_range", value: "20000 20100" },
          { name: "kernel.shm_rmid_forced", value: "1" },
        ),
      },
    );
    expect(printed).toBe("20000\t20100\n1\n");
    expect(execFileSync("cat", ["/proc/sys/net/ipv4/ip_local_port_range"])).toEqual(portsBefore);
  });

  test("other sysctls are refused", async () => {
    const somaxconn = { name: "net.core.somaxconn", value: "99" };
    expect(await refused("unsafe", withSysctls(somaxconn))).toBe(
      'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
    );
    expect(await refused("core", withSysctls({ name: "kernel/core_pattern", value: "|x" }))).toBe(
      'Pod was rejected: forbidden sysctl: "kernel.core_pattern" not allowlisted',
    );
  });

  test.each([
    { what: "a plus sign", name: "plus", value: "1+kernel.core_pattern=|/bin/sh" },
    { what: "a line break", name: "line", value: "1\nkernel.core_pattern=|/bin/sh" },
  ])("a value with $what cannot smuggle in another setting", async ({ name, value }) => {
    expect(await refused(name, withSysctls({ name: "kernel.shm_rmid_forced", value }))).toBe(
      'Pod was rejected: forbidden sysctl: "kernel.shm_rmid_forced" has a value that could set more than itself',
    );
  });

  test("a sysctl's name cannot carry another setting", async () => {
    const sysctl = { name: "kernel.shm_rmid_forced\nkernel.core_pattern", value: "1" };
    world.write("name.json", podManifest("name", withSysctls(sysctl)));
    await expect
      .poll(async () => (await world.client.listProblems(AbortSignal.timeout(60_000))).problems)
      .toContainEqual(
        expect.objectContaining({
          message: expect.stringContaining("must have at most 253 characters and match regex"),
          field: "spec.securityContext.sysctls[0].name",
        }),
      );
    world.remove("name.json");
  });

  test("SELinux options reach the runtime", async () => {
    const seLinuxOptions = { user: "u", role: "r", type: "t", level: "s0:c1,c2" };
    const containers = [shell("main", untilStopped, { securityContext: { seLinuxOptions } })];
    world.write("selinux.json", podManifest("selinux", { containers }));
    const name = world.podName("selinux");
    const pod = await waitForPod(world.client, name, ({ status }) => status?.phase === "Running");
    const { main = "" } = await world.containerIds(pod.metadata.uid);
    expect(containerConfig(world, main)).toMatchObject({
      linux: { security_context: { selinux_options: seLinuxOptions } },
    });
    world.remove("selinux.json");
  });

  test("the node's flags allow more sysctls, no seccomp filter, and another number of processes", async () => {
    await world.agent.stop("SIGTERM");
    const bad = await world.berth("up", "--allowed-unsafe-sysctls", "kernel.core_pattern");
    expect(bad.code).not.toBe(0);
    expect(bad.stderr).toContain(
      'the sysctls "kernel.core_pattern" are not known to be namespaced',
    );
    const sysctls = ["--allowed-unsafe-sysctls", "net.core.*,kernel.msgmax"];
    await world.up("--seccomp-default=false", "--pod-max-pids=345", ...sysctls);
    const printed = await printedInside(
      world,
      "allowed",
      "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax; grep ^Seccomp: /proc/self/status",
      {
        spec: withSysctls(
          { name: "net.core.somaxconn", value: "99" },
          { name: "kernel.msgmax", value: "65000" },
        ),
      },
    );
    expect(printed).toBe("99\n65000\nSeccomp:\t0\n");
    const confined = { securityContext: { seccompProfile: { type: "RuntimeDefault" } } };
    const inside = await printedInside(world, "confined", "grep ^Seccomp: /proc/self/status", {
      main: confined,
    });
    expect(inside).toBe("Seccomp:\t2\n");
    world.write("counted.json", podManifest("counted"));
    const { metadata } = await waitForPod(world.client, world.podName("counted"), isReady);
    const limits = findCgroups(`/${world.bridge}`)
      .flatMap((folder) => filesBelow(folder, "pids.max"))
      .filter((path) => path.includes(`pod${metadata.uid}/pids.max`));
    expect(limits.map((path) => readFileSync(path, "utf8"))).toEqual(["345\n"]);
  });
});

function filesBelow(folder: string, name: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return paths.filter((path) => basename(path) === name).map((path) => join(folder, path));
}

/** The config that containerd got for a container. */
function containerConfig(world: AgentWorld, id: string): unknown {
  const ctr = readMachine().tools.ctr ?? "ctr";
  const args = ["--address", world.containerdSocket, "-n", "k8s.io", "containers", "info", id];
  const info = JSON.parse(execFileSync(ctr, args, { encoding: "utf8" })) as {
    readonly Extensions: Readonly<Record<string, { readonly value: string }>>;
  };
  const { value = "" } = info.Extensions["io.cri-containerd.container.metadata"] ?? {};
  const stored = JSON.parse(Buffer.from(value, "base64").toString()) as {
    readonly Metadata: { readonly Config: unknown };
  };
  return stored.Metadata.Config;
}
