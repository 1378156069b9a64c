import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/main.ts";
import type { Pod } from "../../src/model/pod.ts";
import { captureTerminal } from "../fakes/captured-terminal.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("ephemeral containers", () => {
  let world: AgentWorld;
  let pod: Pod;
  beforeAll(async () => {
    world = await AgentWorld.start(61);
    world.write(
      "web.json",
      podManifest("web", { containers: [shell("main", `: marked; ${untilStopped}`)] }),
    );
    pod = await waitForPod(world.client, world.podName("web"), isReady);
  });
  afterAll(() => world.close());

  const until = (isReached: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPod(world.client, world.podName("web"), isReached);
  const stateOf = ({ status }: Pod, name: string) =>
    status?.ephemeralContainerStatuses?.find((each) => each.name === name)?.state;
  const debug = (...args: readonly string[]) =>
    world.berth("debug", "web", "--image", "busybox", "--image-pull-policy", "Never", ...args);

  test("is started in the pod's network and sees the target's processes; the others run on", async () => {
    const before = await world.containerIds(pod.metadata.uid);
    const script = "ps; ip addr";
    const added = await debug("-c", "look", "--target", "main", "--", "sh", "-c", script);
    expect(added).toMatchObject({ code: 0 });
    const after = await until((now) => stateOf(now, "look")?.terminated !== undefined);
    expect(stateOf(after, "look")?.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
    const { stdout } = await world.berth("logs", "web", "-c", "look");
    expect(stdout).toContain(": marked");
    expect(stdout).toContain(pod.status?.podIP);
    expect(await world.containerIds(pod.metadata.uid)).toMatchObject(before);
    expect(isReady(after)).toBe(true);
  });

  test("is attached to, with a terminal, until its process ends", async () => {
    const screen = {
      enterRawMode: () => () => undefined,
      size: () => ({ width: 101, height: 37 }),
      onResize: () => undefined,
    };
    const terminal = captureTerminal({ environment: { BERTH_DATA_DIR: world.dataDir }, screen });
    const args = ["--image", "busybox", "--image-pull-policy", "Never", "-c", "shell", "-it"];
    const running = runCli(["debug", "web", ...args], terminal, AbortSignal.timeout(60_000));
    await expect.poll(() => terminal.stderrText(), { timeout: 60_000 }).toContain("command prompt");
    // Only then are keys passed on.
    terminal.stdin.write("\n");
    await expect.poll(() => terminal.stdoutText(), { timeout: 60_000 }).toContain("/ #");
    terminal.stdin.write("echo in $(hostname); stty size; exit\n");
    expect(await running).toBe(0);
    expect(terminal.stdoutText()).toContain(`in ${world.podName("web")}`);
    expect(terminal.stdoutText()).toContain("37 101");
    await until((now) => stateOf(now, "shell")?.terminated !== undefined);
  });

  test("is refused as the API refuses it, naming the field", async () => {
    const twice = await debug("-c", "look", "--", "true");
    expect(twice.code).toBe(1);
    expect(twice.stderr).toContain('existing ephemeral containers "look" may not be changed');
    const noTarget = await debug("--target", "missing", "--", "true");
    expect(noTarget.stderr).toContain("spec.ephemeralContainers[2].targetContainerName");
    const named = await debug("-c", "main", "--", "true");
    expect(named.stderr).toContain("Duplicate value");
    const answer = await send("PUT", "application/json", { spec: { ephemeralContainers: [] } });
    expect(answer).toMatchObject({ code: 422, reason: "Invalid" });
    expect(answer["message"]).toContain("may not be removed");
    const odd = await send("PATCH", "application/json-patch+json", []);
    expect(odd).toMatchObject({ code: 415, reason: "UnsupportedMediaType" });
    const container = { name: "x", image: "busybox", ports: [{ containerPort: 1 }] };
    const patch = { spec: { ephemeralContainers: [container] } };
    const ports = await send("PATCH", "application/strategic-merge-patch+json", patch);
    expect(ports["message"]).toContain("spec.ephemeralContainers[2].ports");
  });

  test("stays, running, when the agent is killed and comes back", async () => {
    await debug("-c", "stay", "--", "sh", "-c", untilStopped);
    const before = await until((now) => stateOf(now, "stay")?.running !== undefined);
    const ids = await world.containerIds(before.metadata.uid);
    await world.agent.stop("SIGKILL");
    await world.up();
    const after = await until((now) => stateOf(now, "stay")?.running !== undefined);
    expect(after.spec.ephemeralContainers?.map(({ name }) => name)).toEqual([
      "look",
      "shell",
      "stay",
    ]);
    expect(await world.containerIds(after.metadata.uid)).toEqual(ids);
    expect(after.metadata.uid).toBe(pod.metadata.uid);
    world.remove("web.json");
    await waitUntilGone(world.client, pod.metadata.uid);
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
  });

  function send(method: string, type: string, body: unknown): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const path = `/api/v1/namespaces/default/pods/${world.podName("web")}/ephemeralcontainers`;
      const socketPath = join(world.dataDir, "berth.sock");
      const headers = { "Content-Type": type };
      request({ socketPath, method, path, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve(JSON.parse(text) as Record<string, unknown>));
      })
        .on("error", reject)
        .end(JSON.stringify(body));
    });
  }
});
