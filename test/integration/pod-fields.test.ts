import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { supportsRecursiveReadOnly } from "../../src/core/mount/recursive-read-only.ts";
import {
  printedInside,
  runInside,
  waitForEnd,
  waitingMessage,
  waitsFor,
} from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(90);
});
afterAll(() => world.close());

test("a pod that uses refused fields fails, names each of them, and nothing of it starts", async () => {
  const hook = { lifecycle: { preStop: { tcpSocket: { port: 80 } } } };
  const spec = {
    containers: [shell("main", untilStopped, hook)],
    volumes: [{ name: "data", cephfs: { monitors: ["files.example"] } }],
  };
  world.write("refused.json", podManifest("refused", spec));
  const { metadata, status } = await waitForPod(
    world.client,
    world.podName("refused"),
    (pod) => pod.status?.phase === "Failed",
  );
  expect(status?.reason).toBe("UnsupportedField");
  expect(status?.message).toContain("spec.containers[0].lifecycle.preStop.tcpSocket: ");
  expect(status?.message).toContain("spec.volumes[0].cephfs: ");
  expect(await world.containerIds(metadata.uid)).toEqual({});
  const { stdout } = await world.berth("describe", "pod", "refused");
  expect(stdout).toContain("UnsupportedField");
});

test("a pod runs once it no longer uses the refused field", async () => {
  const share = { name: "share", cephfs: { monitors: ["files.example"] } };
  world.write("mended.json", podManifest("mended", { volumes: [share] }));
  await waitForPod(
    world.client,
    world.podName("mended"),
    ({ status }) => status?.reason === "UnsupportedField",
  );
  world.write("mended.json", podManifest("mended"));
  expect(await waitForPod(world.client, world.podName("mended"), isReady)).toMatchObject({
    status: { phase: "Running" },
  });
});

test("a field that does not exist is refused by name, with the nearest one, and its pod does not run", async () => {
  const misspelled = podManifest("typo").replace('"image"', '"imag"');
  world.write("typo.json", misspelled);
  await world.agent.untilPrinted(({ stderr }) =>
    stderr.includes("unknown field spec.containers[0].imag: did you mean image?"),
  );
  expect((await world.berth("get", "pod", "typo")).code).not.toBe(0);
});

test("a container runs its args in its workingDir, under the hostnameOverride of the pod", async () => {
  const main = { command: ["sh", "-c"], args: ["pwd; hostname"], workingDir: "/tmp" };
  const spec = { hostnameOverride: "other.example" };
  expect(await printedInside(world, "place", "", { spec, main })).toBe("/tmp\nother.example\n");
});

test("a container is restarted for the exit codes of its restartPolicyRules only", async () => {
  const volumeMounts = [{ name: "diary", mountPath: "/diary" }];
  const script = "if test -e /diary/ran; then exit 3; fi; touch /diary/ran; exit 42";
  const exitCodes = { operator: "In", values: [42] };
  const restartPolicyRules = [{ action: "Restart", exitCodes }];
  const containers = [
    shell("main", script, { volumeMounts, restartPolicy: "Never", restartPolicyRules }),
  ];
  const volumes = [{ name: "diary", emptyDir: {} }];
  world.write("rules.json", podManifest("rules", { restartPolicy: "Never", containers, volumes }));
  const pod = await waitForEnd(world, "rules");
  expect(restartsOf(pod)).toBe(1);
  expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
});

test("mountPropagation decides who sees mounts that come later", async () => {
  const shared = join(world.folder, "shared");
  mkdirSync(join(shared, "late"), { recursive: true });
  mkdirSync(join(shared, "made"));
  execFileSync("mount", ["--bind", shared, shared]);
  execFileSync("mount", ["--make-rshared", shared]);
  try {
    const propagations = [
      ["none", undefined],
      ["in", "HostToContainer"],
      ["both", "Bidirectional"],
    ] as const;
    const volumeMounts = propagations.map(([name, mountPropagation]) => ({
      name: "shared",
      mountPath: `/${name}`,
      mountPropagation,
    }));
    const securityContext = { privileged: true };
    const containers = [shell("main", untilStopped, { volumeMounts, securityContext })];
    const volumes = [{ name: "shared", hostPath: { path: shared } }];
    world.write("propagation.json", podManifest("propagation", { containers, volumes }));
    const pod = await waitForPod(world.client, world.podName("propagation"), isReady);
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(shared, "late")]);
    const late = [
      "sh",
      "-c",
      'for d in none in both; do grep -q " /$d/late " /proc/mounts && echo $d; done',
    ];
    expect(await runInside(world, pod, late)).toBe("in\nboth\n");
    await runInside(world, pod, ["mount", "-t", "tmpfs", "tmpfs", "/both/made"]);
    expect(readFileSync("/proc/self/mounts", "utf8")).toContain(` ${join(shared, "made")} tmpfs `);
  } finally {
    if (existsSync(join(world.manifests, "propagation.json"))) world.remove("propagation.json");
    execFileSync("umount", ["--recursive", "--lazy", shared]);
  }
});

test("recursiveReadOnly is done where the runtime can, and refused by volume where it must be", async () => {
  const { runtimeHandlers = [] } = await world.runtime.status(false, AbortSignal.timeout(60_000));
  const write = (name: string, recursiveReadOnly: string): void => {
    const volumeMounts = [{ name: "disk", mountPath: "/disk", readOnly: true, recursiveReadOnly }];
    const containers = [shell("main", untilStopped, { volumeMounts })];
    const volumes = [{ name: "disk", emptyDir: {} }];
    world.write(`${name}.json`, podManifest(name, { containers, volumes }));
  };
  write("if-possible", "IfPossible");
  await waitForPod(world.client, world.podName("if-possible"), isReady);
  write("enabled", "Enabled");
  const waits = waitsFor("CreateContainerConfigError");
  const settled = await waitForPod(
    world.client,
    world.podName("enabled"),
    (pod) => isReady(pod) || waits(pod),
  );
  expect(waitingMessage(settled)).toBe(
    supportsRecursiveReadOnly("", runtimeHandlers)
      ? ""
      : 'failed to resolve recursive read-only mode: volume "disk" requested recursive read-only mode, but it is not supported by the runtime',
  );
});

test("a pod whose nodeSelector names another kind of node is refused", async () => {
  const nodeSelector = { "kubernetes.io/arch": "none" };
  world.write("elsewhere.json", podManifest("elsewhere", { nodeSelector }));
  const { status } = await waitForEnd(world, "elsewhere");
  expect(status).toMatchObject({ phase: "Failed", reason: "NodeAffinity" });
});
