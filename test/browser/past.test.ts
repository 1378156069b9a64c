import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode } from "./support/sim-node.ts";

let node: SimNode;
let browser: TestBrowser;
let page: Page;
/** When the first pod ran and the second was not there yet. */
let betweenMs: number;

beforeAll(async () => {
  // Minutes pass in seconds.
  node = await SimNode.start([{ name: "early" }], "--speed", "30");
  browser = await TestBrowser.start(node.folder);
  page = await browser.open(await node.login());
  await row("early-edge-1").getByText("Running").waitFor();
  betweenMs = await agentNowMs();
  node.write({ name: "late" });
  await row("late-edge-1").getByText("Running").waitFor();
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
});

function row(name: string) {
  return page.getByRole("row", { name: new RegExp(name) });
}

function agentNowMs(): Promise<number> {
  return page.evaluate(async () => {
    const headers = { "berth-key": localStorage.getItem("berth-key") ?? "" };
    const answer = await fetch("/ui/info", { headers });
    const info: { readonly nowMs: number } = await answer.json();
    return Math.floor(info.nowMs);
  });
}

test("the pods of a past time are shown as they were then, and marked as past", async () => {
  await page.goto(`${node.origin}/#/pods?at=${betweenMs}`);
  await page.getByText("Past", { exact: true }).waitFor();
  await page.getByText("1 pod", { exact: true }).waitFor();
  await row("early-edge-1").getByText("Running").waitFor();
  expect(await row("late-edge-1").count()).toBe(0);
});

test("the time stays from view to view, and links keep it", async () => {
  await page.getByRole("link", { name: "Node", exact: true }).click();
  await page.getByText("Past", { exact: true }).waitFor();
  expect(page.url()).toBe(`${node.origin}/#/node?at=${betweenMs}`);
  await page.getByRole("heading", { name: "Conditions" }).waitFor();
  expect(await page.getByRole("heading", { name: "Images" }).count()).toBe(0);
});

test("one link leads back to now", async () => {
  await page.getByRole("link", { name: "Pods", exact: true }).click();
  await page.getByRole("link", { name: "Back to live" }).click();
  await row("late-edge-1").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  expect(page.url()).toBe(`${node.origin}/#/pods`);
});

test("the slider goes back by keys, a minute at a time", async () => {
  // It reaches ten minutes back at least.
  const slider = page.getByRole("slider", { name: "Go back in time" });
  const nowMs = await agentNowMs();
  await slider.press("ArrowLeft");
  await page.getByText("Past", { exact: true }).waitFor();
  const chosenMs = Number(new URL(page.url()).hash.split("at=")[1]);
  // Its clock runs fast: some of its time passes between the two.
  expect(nowMs - chosenMs).toBeLessThan(120_000);
  await slider.press("ArrowLeft");
  const nextMs = Number(new URL(page.url()).hash.split("at=")[1]);
  expect(chosenMs - nextMs).toBe(60_000);
  expect(await slider.getAttribute("aria-valuetext")).toMatch(/\d\d:\d\d:\d\d/);
});

test("a time that is not kept is said to be so", async () => {
  await page.goto(`${node.origin}/#/pods?at=1000`);
  await page.getByText(/Nothing is kept of this time/).waitFor();
  expect(browser.errors).toEqual([]);
});
