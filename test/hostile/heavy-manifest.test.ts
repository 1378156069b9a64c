import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(167);
});
afterAll(() => world.close());

const annotations = lines(400_000, (index) => `"k${index}":"v"`).join(",");
/** They mean nothing, however many there are. */
const empty = [
  { title: "comments", text: "#\n".repeat(4_500_000) },
  { title: "empty-lines", text: "\n".repeat(9_000_000) },
];
const shapes = [
  { title: "one-key", text: "a: 1\n".repeat(800_000) },
  { title: "keys", text: lines(500_000, (index) => `k${index}: 1`).join("\n") },
  { title: "anchors", text: lines(300_000, (index) => `k${index}: &a${index} 1`).join("\n") },
  { title: "brackets", text: "}".repeat(9_000_000) },
  {
    title: "annotations",
    text: `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{${annotations}}}}`,
  },
];

function lines(length: number, lineOf: (index: number) => string): string[] {
  return Array.from({ length }, (_, index) => lineOf(index));
}

test("manifests of millions of values are refused one by one, and a pod beside them starts", async () => {
  for (const { title, text } of [...empty, ...shapes]) world.write(`${title}.yaml`, text);
  world.write("zz-healthy.json", podManifest("beside"));
  await waitForPod(world.client, world.podName("beside"), isReady);
  for (const { title } of shapes) {
    const refusal = (line: string): boolean => line.includes(`/${title}.yaml`);
    await world.agent.untilPrinted(({ stderr }) => stderr.split("\n").some(refusal));
    const line = world.agent.stderr.split("\n").find(refusal) ?? "";
    expect(JSON.parse(line).message).toMatch(
      /more than (?:150000 tokens|100000 keys and values).*: use more files|did not find expected node content/,
    );
  }
  expect(world.agent.isRunning).toBe(true);
});
