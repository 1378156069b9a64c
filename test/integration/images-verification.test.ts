import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { Registry, registryUser } from "./support/registry.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 214;
const timeoutMs = 60_000;

let world: RuntimeWorld;
let registry: Registry;
let folder: string;
let client: AgentClient;
let agent: BerthProcess | undefined;
let image: string;

beforeAll(async () => {
  buildProgram();
  registry = await Registry.start({ wantsLogin: true });
  await registry.push("private", "1", "private");
  image = `${registry.address}/private:1`;
  world = await startRuntimeWorld({ network });
  folder = makeTestFolder("verification");
  client = new AgentClient(join(folder, "root/berth.sock"));
  mkdirSync(join(folder, "manifests"));
  // As an operator does who prepares a machine: no kubelet has a record of it.
  const { username, password } = registryUser;
  const signal = AbortSignal.timeout(timeoutMs);
  await world.runtime.pullImage({ image }, { username, password }, undefined, signal);
});

afterEach(async () => {
  await agent?.stop("SIGTERM");
});

afterAll(async () => {
  const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(timeoutMs));
  for (const { id = "" } of sandboxes) await world.removePod(id);
  removeCgroups(world.cgroupRoot);
  await world.close();
  await registry.close();
  await removeFolder(folder);
});

async function startAgent(settings: object): Promise<void> {
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    staticPodPath: "manifests",
    podLogsDir: "logs",
    containerRuntimeEndpoint: world.containerd.endpoint,
    cgroupRoot: world.cgroupRoot,
    failCgroupV1: false,
    failSwapOn: false,
    enableServer: false,
    healthzPort: 0,
    makeIPTablesUtilChains: false,
    evictionHard: {},
    ...settings,
  };
  writeFileSync(join(folder, "kubelet.yaml"), JSON.stringify(config));
  agent = new BerthProcess([
    "kubelet",
    `--config=${join(folder, "kubelet.yaml")}`,
    `--root-dir=${join(folder, "root")}`,
    `--cert-dir=${join(folder, "pki")}`,
    "--hostname-override=verification",
  ]);
  await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
}

function run(name: string): Promise<Pod> {
  const containers = [shell("main", untilStopped, { image })];
  writeFileSync(join(folder, `manifests/${name}.json`), podManifest(name, { containers }));
  const isSettled = (pod: Pod): boolean => isReady(pod) || waitingReason(pod) === "ErrImagePull";
  return waitForPod(client, `${name}-verification`, isSettled);
}

function waitingReason({ status }: Pod): string | undefined {
  return status?.containerStatuses?.[0]?.state?.waiting?.reason;
}

test("with AlwaysVerify an image that is there has to be pulled with credentials that the pod lacks", async () => {
  await startAgent({ imagePullCredentialsVerificationPolicy: "AlwaysVerify" });
  expect(waitingReason(await run("always"))).toBe("ErrImagePull");
});

test("with NeverVerifyAllowlistedImages one that is in the list has not", async () => {
  const policy = { imagePullCredentialsVerificationPolicy: "NeverVerifyAllowlistedImages" };
  const listed = [`${registry.address}/*`];
  await startAgent({ ...policy, preloadedImagesVerificationAllowlist: ["example.com/other"] });
  expect(waitingReason(await run("not-listed"))).toBe("ErrImagePull");
  await agent?.stop("SIGTERM");
  await startAgent({ ...policy, preloadedImagesVerificationAllowlist: listed });
  expect(isReady(await run("listed"))).toBe(true);
});

test.each(["NeverVerify", "NeverVerifyPreloadedImages"])(
  "with %s no pod has to pull it",
  async (policy) => {
    await startAgent({ imagePullCredentialsVerificationPolicy: policy });
    expect(isReady(await run(policy.toLowerCase()))).toBe(true);
  },
);

test("without the feature no pod has to pull it", async () => {
  await startAgent({ featureGates: { KubeletEnsureSecretPulledImages: false } });
  expect(isReady(await run("off"))).toBe(true);
});
