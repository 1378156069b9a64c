import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest, shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

// A few hundred bytes that stand for 1.6 GB, a heap that no agent has.
const doubling = [
  { name: "A0", value: "0123456789" },
  ...Array.from({ length: 7 }, (_, index) => ({
    name: `A${index + 1}`,
    value: `$(A${index})`.repeat(10),
  })),
];
const variables = [
  ...doubling,
  ...Array.from({ length: 40 }, (_, index) => ({ name: `B${index}`, value: "$(A7)".repeat(4) })),
];

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(131);
});
afterAll(() => world.close());

test.each([
  {
    title: "an environment",
    container: shell("main", untilStopped, { env: variables }),
    names: 'the variable "A6"',
  },
  {
    title: "a command",
    container: shell("main", untilStopped, {
      env: doubling.slice(0, 5),
      command: ["echo", "$(A4)".repeat(30)],
    }),
    names: "command[1]",
  },
  {
    title: "the command of a probe",
    container: shell("main", untilStopped, {
      env: [{ name: "A", value: "x".repeat(100_000) }],
      livenessProbe: { exec: { command: ["echo", "$(A)".repeat(30_000)] } },
    }),
    names: "livenessProbe.exec",
  },
  {
    title: "the path of a mount",
    container: shell("main", untilStopped, {
      env: [{ name: "A", value: "x".repeat(100_000) }],
      volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(A)".repeat(30_000) }],
    }),
    names: "subPathExpr",
  },
])("$title that stands for gigabytes keeps only its container waiting", async (wanted) => {
  const name = wanted.title.replaceAll(" ", "-");
  const volumes = [{ name: "v", emptyDir: {} }];
  world.write("hostile.json", podManifest(name, { containers: [wanted.container], volumes }));
  const pod = await waitForPod(world.client, world.podName(name), ({ status }) =>
    (status?.containerStatuses ?? []).some(({ state }) => state?.waiting?.message !== undefined),
  );
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting;
  expect(waiting?.reason).toBe("CreateContainerConfigError");
  expect(waiting?.message).toContain(wanted.names);
  expect(waiting?.message).toMatch(/more than \d+ bytes/);

  // The agent goes on with others.
  world.write("healthy.json", podManifest(`beside-${name}`));
  await waitForPod(world.client, world.podName(`beside-${name}`), isReady);
});
