import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(168);
});
afterAll(() => world.close());

test("a manifest whose reading never ends is named, and a pod beside it starts", async () => {
  symlinkSync("/proc/kmsg", join(world.manifests, "kmsg.yaml"));
  world.write("zz-healthy.json", podManifest("beside-kmsg"));
  await waitForPod(world.client, world.podName("beside-kmsg"), isReady);
  await world.agent.untilPrinted(({ stderr }) =>
    stderr
      .split("\n")
      .some((line) => line.includes("/kmsg.yaml") && line.includes("does not answer")),
  );
  expect(world.agent.isRunning).toBe(true);
});
