import { afterAll, beforeAll, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode } from "./support/sim-node.ts";

const count = 250;
const maxPods = Array.from({ length: count }, (_, index) => ({
  name: `pod-${index}`,
  namespace: `team-${index % 5}`,
  // Some change all the time.
  annotations: index % 10 === 0 ? { "sim.berth.dev/main": "run 3s, exit 1" } : {},
}));
/** What a frame may take before it is seen as a pause. */
const longFrameMs = 200;

let node: SimNode;
let browser: TestBrowser;

beforeAll(async () => {
  node = await SimNode.start(maxPods);
  browser = await TestBrowser.start(node.folder);
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
});

test(`${count} pods are scrolled through without a pause`, async () => {
  const page = await browser.open(await node.login());
  await page.getByText(/^\d+ pods$/).waitFor();
  const rows = page.locator("tbody tr");
  await expect.poll(() => rows.count()).toBeGreaterThan(100);
  const { frames, long } = await page.evaluate(async (longFrameMs) => {
    const nextFrame = (): Promise<number> =>
      new Promise((resolve) => {
        requestAnimationFrame(resolve);
      });
    let longFrames = 0;
    let frames = 0;
    let lastMs = await nextFrame();
    const end = (): number => document.documentElement.scrollHeight - innerHeight;
    for (let top = 0; top < end(); top += 40) {
      scrollTo(0, top);
      const nowMs = await nextFrame();
      if (nowMs - lastMs > longFrameMs) longFrames++;
      lastMs = nowMs;
      frames++;
    }
    return { frames, long: longFrames };
  }, longFrameMs);
  expect(frames).toBeGreaterThan(50);
  // One in twenty may wait for another process of a busy machine.
  expect(long / frames).toBeLessThan(0.05);
  expect(browser.errors).toEqual([]);
});
