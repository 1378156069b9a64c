import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SecurityContext } from "../../src/model/generated/kubernetes.ts";
import {
  eventMessages,
  printedInside,
  waitForEnd,
  waitingMessage,
  waitsFor,
} from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

/** What a runtime gives containers that ask for nothing: CHOWN to SETFCAP. */
const defaultCapabilities = 0xa80425fbn;
const netAdmin = 1n << 12n;
const netRaw = 1n << 13n;
const sysAdmin = 1n << 21n;

const noMakingFolders = {
  defaultAction: "SCMP_ACT_ALLOW",
  syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
};

describe("what containers may do", () => {
  let world: AgentWorld;
  let profiles: string;
  beforeAll(async () => {
    world = await AgentWorld.start(71);
    profiles = join(world.dataDir, "kubelet/seccomp");
    mkdirSync(join(profiles, "team"), { recursive: true });
    const text = JSON.stringify(noMakingFolders);
    writeFileSync(join(profiles, "team/no-folders.json"), text);
    writeFileSync(
      join(world.folder, "outside.json"),
      JSON.stringify({ ...noMakingFolders, syscalls: [] }),
    );
    symlinkSync("no-folders.json", join(profiles, "team/link.json"));
    symlinkSync(join(world.folder, "outside.json"), join(profiles, "escape.json"));
    symlinkSync(world.folder, join(profiles, "away"));
  });
  afterAll(() => world.close());

  /** A field of the kernel's account of the container's process. */
  const statusField = async (
    name: string,
    field: string,
    securityContext?: SecurityContext,
  ): Promise<string> => {
    const script = `grep ^${field}: /proc/self/status`;
    const printed = await printedInside(world, name, script, {
      main: securityContext === undefined ? {} : { securityContext },
    });
    return printed.split(":")[1]?.trim() ?? "";
  };
  const capabilities = async (name: string, context?: SecurityContext): Promise<bigint> =>
    BigInt(`0x${await statusField(name, "CapEff", context)}`);

  test("capabilities are the runtime's own, with those added and without those dropped", async () => {
    expect(await capabilities("caps-default")).toBe(defaultCapabilities);
    const changed = { capabilities: { add: ["NET_ADMIN"], drop: ["NET_RAW"] } };
    const wanted = (defaultCapabilities | netAdmin) & ~netRaw;
    expect(await capabilities("caps-changed", changed)).toBe(wanted);
    const one = { capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] } };
    expect(await capabilities("caps-one", one)).toBe(netAdmin);
    expect(await capabilities("caps-none", { capabilities: { drop: ["ALL"] } })).toBe(0n);
  });

  test("a privileged container has every capability and device, and an unmasked /proc", async () => {
    const printed = await printedInside(
      world,
      "privileged",
      "grep ^CapEff: /proc/self/status; ls /dev | wc -l; head -c 10 /proc/timer_list | wc -c",
      { main: { securityContext: { privileged: true } } },
    );
    const [caps = "", devices = "", timers = ""] = printed.split("\n");
    const own = BigInt(`0x${caps.split(":")[1]?.trim() ?? "0"}`);
    expect(own & (defaultCapabilities | netAdmin | sysAdmin)).toBe(
      defaultCapabilities | netAdmin | sysAdmin,
    );
    expect(Number(devices)).toBeGreaterThan(20);
    expect(timers).toBe("10");
  });

  test("a container gains no privileges where it must not escalate", async () => {
    expect(await statusField("escalate", "NoNewPrivs")).toBe("0");
    const context = { allowPrivilegeEscalation: false };
    expect(await statusField("no-escalation", "NoNewPrivs", context)).toBe("1");
  });

  test("a read-only root file system cannot be written, volumes can", async () => {
    const printed = await printedInside(
      world,
      "read-only",
      "touch /file 2>&1; touch /tmp/file && echo written; grep ' / ' /proc/mounts",
      {
        spec: { volumes: [{ name: "tmp", emptyDir: {} }] },
        main: {
          securityContext: { readOnlyRootFilesystem: true },
          volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
        },
      },
    );
    expect(printed).toMatch(/Read-only file system\nwritten\n.* ro,/);
  });

  test("what reveals the machine is masked in /proc, and /proc/sys is read-only", async () => {
    const printed = await printedInside(
      world,
      "masked",
      "{ wc -c < /proc/timer_list; ls /sys/firmware | wc -l; echo 1 > /proc/sys/kernel/panic; } 2>&1",
    );
    expect(printed).toBe("0\n0\nsh: can't create /proc/sys/kernel/panic: Read-only file system\n");
  });

  test("an unmasked /proc needs a user namespace of the pod's own", async () => {
    const containers = [
      shell("main", untilStopped, { securityContext: { procMount: "Unmasked" } }),
    ];
    world.write("unmasked.json", podManifest("unmasked", { containers }));
    await expect
      .poll(async () => (await world.client.listProblems(AbortSignal.timeout(60_000))).problems)
      .toContainEqual(
        expect.objectContaining({
          message: expect.stringContaining("`hostUsers` must be false to use `Unmasked`"),
          field: "spec.containers[0].securityContext.procMount",
        }),
      );
    world.remove("unmasked.json");
  });

  test("a pod with users of its own waits, saying that the runtime has none", async () => {
    world.write("users.json", podManifest("users", { hostUsers: false }));
    const name = world.podName("users");
    const pod = await waitForPod(world.client, name, ({ status }) => status?.phase === "Pending");
    await expect
      .poll(() => eventMessages(world, pod, "FailedCreatePodSandBox"))
      .toContainEqual(
        "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      );
    expect(await world.tracesOf(pod.metadata.uid)).not.toContainEqual(
      expect.stringMatching(/^sandbox /),
    );
    world.remove("users.json");
  });

  test("seccomp filters are those of the runtime, none, or a file", async () => {
    const withProfile = (type: string, localhostProfile?: string): SecurityContext => ({
      seccompProfile: { type, localhostProfile },
    });
    expect(await statusField("seccomp-unset", "Seccomp")).toBe("2");
    expect(await statusField("seccomp-none", "Seccomp", withProfile("Unconfined"))).toBe("0");
    expect(await statusField("seccomp-runtime", "Seccomp", withProfile("RuntimeDefault"))).toBe(
      "2",
    );
    for (const profile of ["team/no-folders.json", "team/link.json"]) {
      const printed = await printedInside(
        world,
        `seccomp-${profile.length}`,
        "grep ^Seccomp: /proc/self/status; mkdir /folder 2>&1 || echo refused",
        { main: { securityContext: withProfile("Localhost", profile) } },
      );
      expect(printed).toMatch(/^Seccomp:\t2\nmkdir: .*Operation not permitted\nrefused\n$/);
    }
  });

  test.each([
    {
      name: "link",
      profile: "escape.json",
      message: /^seccomp profile ".*escape.json" leads out of /,
    },
    { name: "folder", profile: "away/outside.json", message: / leads out of .*kubelet\/seccomp$/ },
    {
      name: "empty",
      profile: "",
      message: /^localhostProfile must be set if seccompProfile type is Localhost\.$/,
    },
  ])(
    "a seccomp profile that is not a file of the folder ($name) is refused",
    async ({ name, profile, message }) => {
      const file = `seccomp-${name}.json`;
      const seccompProfile = { type: "Localhost", localhostProfile: profile };
      world.write(file, podManifest(`seccomp-${name}`, { securityContext: { seccompProfile } }));
      const pod = await waitForPod(
        world.client,
        world.podName(`seccomp-${name}`),
        waitsFor("CreateContainerConfigError"),
      );
      expect(waitingMessage(pod)).toMatch(message);
      expect(await world.containerIds(pod.metadata.uid)).toEqual({});
      world.remove(file);
    },
  );

  test("a seccomp profile with dots is refused with the manifest", async () => {
    const seccompProfile = { type: "Localhost", localhostProfile: "../../outside.json" };
    world.write("dots.json", podManifest("dots", { securityContext: { seccompProfile } }));
    await expect
      .poll(async () => (await world.client.listProblems(AbortSignal.timeout(60_000))).problems)
      .toContainEqual(
        expect.objectContaining({
          message: expect.stringContaining("must not contain '..'"),
          field: "spec.securityContext.seccompProfile.localhostProfile",
        }),
      );
    world.remove("dots.json");
  });

  test("AppArmor is refused where the kernel has none, and every command says so", async () => {
    const securityContext = { appArmorProfile: { type: "RuntimeDefault" } };
    world.write("armor.json", podManifest("armor", { securityContext }));
    const { status } = await waitForEnd(world, "armor");
    const message =
      "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host";
    expect(status).toMatchObject({ phase: "Failed", reason: "AppArmor", message });
    expect((await world.berth("get", "pods")).stdout).toMatch(/armor-node .*0\/1 .*AppArmor/);
    const described = (await world.berth("describe", "pod", world.podName("armor"))).stdout;
    expect(described).toMatch(/Reason: +AppArmor/);
    expect(described).toContain(message);
    world.remove("armor.json");
  });
});
