import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest, shell, untilTold } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(90);
});
afterAll(() => world.close());

test("a pod that uses refused fields fails, names each of them, and nothing of it starts", async () => {
  const hook = { lifecycle: { preStop: { tcpSocket: { port: 80 } } } };
  const spec = {
    containers: [shell("main", untilTold, hook)],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  };
  world.write("refused.json", podManifest("refused", spec));
  const { metadata, status } = await waitForPod(
    world.client,
    world.podName("refused"),
    (pod) => pod.status?.phase === "Failed",
  );
  expect(status?.reason).toBe("UnsupportedField");
  expect(status?.message).toContain("spec.containers[0].lifecycle.preStop.tcpSocket: ");
  expect(status?.message).toContain("spec.volumes[0].persistentVolumeClaim: ");
  expect(await world.containerIds(metadata.uid)).toEqual({});
  const { stdout } = await world.berth("describe", "pod", "refused");
  expect(stdout).toContain("UnsupportedField");
});

test("a pod runs once it no longer uses the refused field", async () => {
  const share = { name: "share", nfs: { server: "files.example", path: "/" } };
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
