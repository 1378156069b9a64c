import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { BerthProcess } from "../integration/support/agent-process.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(132);
});
afterAll(() => world.close());

const shapes = [
  { title: "flow lists without an end", text: `a: ${"[".repeat(3000)}` },
  { title: "flow lists", text: `a: ${"[".repeat(3000)}${"]".repeat(3000)}` },
  { title: "flow maps", text: `a: ${"{a: ".repeat(3000)}${"}".repeat(3000)}` },
  { title: "block lists on one line", text: `a:\n  ${"- ".repeat(3000)}x` },
  { title: "complex keys", text: `${"? ".repeat(3000)}x` },
  {
    title: "block maps",
    text: Array.from({ length: 1500 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"),
  },
  {
    title: "anchors inside anchors",
    text: [
      `a0: &a0 ${"[".repeat(90)}${"]".repeat(90)}`,
      ...Array.from(
        { length: 100 },
        (_, index) => `a${index + 1}: &a${index + 1} ${"[".repeat(90)}*a${index}${"]".repeat(90)}`,
      ),
    ].join("\n"),
  },
  { title: "JSON lists", text: `{"a":${"[".repeat(3000)}` },
  { title: "JSON maps", text: `${'{"a":'.repeat(3000)}1${"}".repeat(3000)}` },
];

test.each(shapes)("a manifest of nested $title is refused, and nothing else", async (shape) => {
  const { title, text } = shape;
  const file = `${title.replaceAll(" ", "-")}.yaml`;
  world.write(file, text);
  const name = `beside-${title.toLowerCase().replaceAll(" ", "-")}`;
  world.write("healthy.json", podManifest(name));
  await waitForPod(world.client, world.podName(name), isReady);
  const refusal = world.agent.stderr.split("\n").find((line) => line.includes(file)) ?? "";
  expect(JSON.parse(refusal)).toMatchObject({
    line: expect.any(Number),
    message: expect.stringContaining("exceeded max depth of 100"),
  });
});

test("a manifest with very many documents is refused", async () => {
  world.write("documents.yaml", "---\na: 1\n".repeat(1001));
  await world.agent.untilPrinted(({ stderr }) => stderr.includes("more than 1000 documents"));
  expect(world.agent.isRunning).toBe(true);
});

const [deep] = shapes;
const commands = [
  { title: "plan", args: (file: string) => ["plan", "-f", file] },
  { title: "kubelet --config", args: (file: string) => ["kubelet", "--config", file] },
  { title: "kubelet --kubeconfig", args: (file: string) => [...kubelet(), "--kubeconfig", file] },
  {
    title: "up --image-credential-provider-config",
    args: (file: string) => [
      "up",
      "--data-dir",
      join(world.folder, "other"),
      "--image-credential-provider-config",
      file,
      "--image-credential-provider-bin-dir",
      "/bin",
    ],
  },
];

function kubelet(): readonly string[] {
  const config = join(world.folder, "kubelet.yaml");
  const kind = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration";
  writeFileSync(config, `${kind}\nfailCgroupV1: false\ncontainerRuntimeEndpoint: unix:///none\n`);
  return ["kubelet", "--config", config, "--root-dir", join(world.folder, "root")];
}

test.each(commands)("berth $title refuses a file that is nested too deep", async ({ args }) => {
  const file = join(world.folder, "deep.yaml");
  writeFileSync(file, deep?.text ?? "");
  const { code, stdout, stderr } = await new BerthProcess(args(file)).ended;
  expect(code).toBeGreaterThan(0);
  expect(stdout + stderr).toContain(file);
  expect(stdout + stderr).toMatch(/line 1: exceeded max depth of 100/);
});
