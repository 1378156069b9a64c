import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { PodChanges, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { imagePod, isRunning, pullSecret, waitingOf } from "./support/image-pods.ts";
import { Registry, registryUser } from "./support/registry.ts";

const { username, password: canary } = registryUser;
const wrong = "berth-canary-wrong-77ab";

describe("images of a registry that wants a login", () => {
  let world: AgentWorld;
  let registry: Registry;

  beforeAll(async () => {
    registry = await Registry.start({ wantsLogin: true });
    await registry.push("private", "1", "private");
    await registry.push("provided", "1", "provided 1");
    await registry.push("provided", "2", "provided 2");
    world = await AgentWorld.create(81);
    const { config, folder } = prepareProvider();
    await world.up(
      "--image-credential-provider-config",
      config,
      "--image-credential-provider-bin-dir",
      folder,
      "--max-parallel-image-pulls",
      "2",
      "--registry-qps",
      "0",
      "--log-level",
      "debug",
    );
  });

  afterAll(async () => {
    await world.close();
    await registry.close();
  });

  /** A provider for one repository of the registry; it notes each time it is asked. */
  function prepareProvider(): { readonly config: string; readonly folder: string } {
    const folder = join(world.folder, "providers");
    mkdirSync(folder);
    const program = join(folder, "provider");
    const apiVersion = "credentialprovider.kubelet.k8s.io/v1";
    const answer = JSON.stringify({
      apiVersion,
      kind: "CredentialProviderResponse",
      cacheKeyType: "Registry",
      auth: { [registry.address]: { username, password: canary } },
    });
    const script = ["#!/bin/sh", 'echo "$1 $NOTE $(cat)" >> "$2"', `echo '${answer}'`, ""];
    writeFileSync(program, script.join("\n"));
    chmodSync(program, 0o755);
    const config = join(world.folder, "providers.yaml");
    const provider = {
      name: "provider",
      matchImages: [`${registry.address}/provided`],
      defaultCacheDuration: "10m",
      apiVersion,
      args: ["get", join(world.folder, "asked")],
      env: [{ name: "NOTE", value: "note" }],
    };
    const kind = "CredentialProviderConfig";
    const whole = { apiVersion: "kubelet.config.k8s.io/v1", kind, providers: [provider] };
    writeFileSync(config, JSON.stringify(whole));
    return { config, folder };
  }

  function untilRunning(name: string): Promise<Pod> {
    return waitForPod(world.client, world.podName(name), isRunning);
  }

  function untilWaiting(name: string, reason: string): Promise<Pod> {
    return waitForPod(
      world.client,
      world.podName(name),
      (pod) => waitingOf(pod)?.reason === reason,
    );
  }

  async function eventsOf(pod: Pod): Promise<readonly string[]> {
    const events = await world.client.listEvents(pod, AbortSignal.timeout(60_000));
    return events.map(({ reason, message }) => `${reason}: ${message}`);
  }

  async function end(file: string, pod: Pod): Promise<void> {
    world.remove(file);
    await waitUntilGone(world.client, pod.metadata.uid);
  }

  test("wait with the reason until the right pull secret is there, and proceed by themselves", async () => {
    const image = `${registry.address}/private:1`;
    const pullSecrets = ["registry-login"];
    const changes = new PodChanges(world.client);
    world.write(
      "private.json",
      imagePod({ name: "private", image, policy: "Always", pullSecrets }),
    );
    const missing = await untilWaiting("private", "ImagePullBackOff");
    const { uid } = missing.metadata;
    expect(waitingOf(missing)?.message).toMatch(
      /ErrImagePull: .*(?:401|authorization|authentication)/i,
    );
    expect(await eventsOf(missing)).toContain(
      "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (registry-login); attempting to pull the image may not succeed.",
    );
    const seen = (await changes.stop()).map(({ pod }) => waitingOf(pod)?.reason);
    expect([...new Set(seen)].slice(-3)).toEqual([
      "ContainerCreating",
      "ErrImagePull",
      "ImagePullBackOff",
    ]);
    world.write("login.json", pullSecret("registry-login", registry.address, wrong));
    await waitForPod(world.client, world.podName("private"), (pod) =>
      (waitingOf(pod)?.message ?? "").includes("Unauthorized"),
    );
    await untilWaiting("private", "ImagePullBackOff");

    world.write("login.json", pullSecret("registry-login", registry.address, canary));
    const pod = await untilRunning("private");
    expect(pod.metadata.uid).toBe(uid);
    await expectNoSecretShown(pod);

    // The image is on the machine now, but only for those who could pull it.
    world.write("intruder.json", imagePod({ name: "intruder", image }));
    const intruder = await untilWaiting("intruder", "ImagePullBackOff");
    world.write("never.json", imagePod({ name: "never", image, policy: "Never" }));
    const never = await untilWaiting("never", "ErrImageNeverPull");
    world.write("friend.json", imagePod({ name: "friend", image, policy: "Never", pullSecrets }));
    const friend = await untilRunning("friend");
    await end("intruder.json", intruder);
    await end("never.json", never);
    await end("friend.json", friend);
    await end("private.json", pod);
    world.remove("login.json");
  });

  test("with a broken pull secret name the secret, and not what it says", async () => {
    const image = `${registry.address}/private:1`;
    const data = { ".dockerconfigjson": Buffer.from(`{"auths": ${canary}`).toString("base64") };
    const type = "kubernetes.io/dockerconfigjson";
    const metadata = { name: "broken" };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type, data };
    world.write("broken-secret.json", JSON.stringify(secret));
    const pullSecrets = ["broken"];
    world.write("broken.json", imagePod({ name: "broken", image, policy: "Always", pullSecrets }));
    const pod = await waitForPod(world.client, world.podName("broken"), (each) =>
      (waitingOf(each)?.message ?? "").includes(
        'image pull secret "broken": its .dockerconfigjson',
      ),
    );
    expect(waitingOf(pod)?.reason).toMatch(/ErrImagePull|ImagePullBackOff/);
    await expectNoSecretShown(pod);
    await end("broken.json", pod);
    world.remove("broken-secret.json");
  });

  test("are pulled with the login of a credential provider, which is asked once", async () => {
    const repository = `${registry.address}/provided`;
    world.write("provided-1.json", imagePod({ name: "provided-1", image: `${repository}:1` }));
    const first = await untilRunning("provided-1");
    world.write("provided-2.json", imagePod({ name: "provided-2", image: `${repository}:2` }));
    const second = await untilRunning("provided-2");
    const asked = readFileSync(join(world.folder, "asked"), "utf8").trim().split("\n");
    expect(asked).toHaveLength(1);
    expect(asked[0]?.replace(/\{.*/, "")).toBe("get note ");
    expect(JSON.parse(asked[0]?.slice("get note ".length) ?? "")).toEqual({
      apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      kind: "CredentialProviderRequest",
      image: repository,
    });
    await expectNoSecretShown(first);
    await end("provided-1.json", first);
    await end("provided-2.json", second);
  });

  /** Nothing that people see and nothing that the agent writes has a password in it. */
  async function expectNoSecretShown(pod: Pod): Promise<void> {
    const { name, uid } = pod.metadata;
    const shown = [
      (await world.berth("describe", "pod", name)).stdout,
      (await world.berth("why", name)).stdout,
      (await world.berth("get", "pod", name, "-o", "yaml")).stdout,
      (await eventsOf(pod)).join("\n"),
      JSON.stringify(await world.client.explain(uid, AbortSignal.timeout(60_000))),
      world.agent.stderr,
      world.agent.stdout,
      ...["kubelet", "records", "logs"].map((folder) => textBelow(join(world.dataDir, folder))),
    ].join("\n");
    for (const secret of [canary, wrong]) {
      expect(shown).not.toContain(secret);
      const encoded = Buffer.from(`${username}:${secret}`).toString("base64");
      expect(shown).not.toContain(encoded);
    }
  }
});

function textBelow(folder: string): string {
  if (!existsSync(folder)) return "";
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}
