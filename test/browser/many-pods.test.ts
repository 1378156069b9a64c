import type { CDPSession } from "playwright-core";
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
/** Of the time: what is left of it is for the browser to draw. */
const maxBusyShare = 0.6;

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

/** What the page's thread has computed so far, in seconds of the processor: waiting for other processes does not count. */
async function computedSeconds(devTools: CDPSession): Promise<number> {
  const { metrics } = await devTools.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
}

test(`the page has time left while ${count} pods are scrolled through and change`, async () => {
  const page = await browser.open(await node.login());
  await page.getByText(/^\d+ pods$/).waitFor();
  await expect.poll(() => page.locator("tbody tr").count()).toBeGreaterThan(100);
  const devTools = await browser.context.newCDPSession(page);
  await devTools.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await computedSeconds(devTools);
  const { frames, passedMs } = await page.evaluate(async () => {
    const nextFrame = (): Promise<number> =>
      new Promise((resolve) => {
        requestAnimationFrame(resolve);
      });
    const startMs = await nextFrame();
    let frames = 0;
    let nowMs = startMs;
    const end = document.documentElement.scrollHeight - innerHeight;
    for (let top = 0; top < end; top += 40) {
      scrollTo(0, top);
      nowMs = await nextFrame();
      frames++;
    }
    return { frames, passedMs: nowMs - startMs };
  });
  const share = ((await computedSeconds(devTools)) - before) / (passedMs / 1000);
  expect(frames).toBeGreaterThan(50);
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(maxBusyShare);
  expect(browser.errors).toEqual([]);
});
