import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode, type SimPod } from "./support/sim-node.ts";

const hostile = `<img src=x onerror="document.title='owned'">`;
const longName = `${"a-very-long-name-".repeat(13)}end`;
const pods: readonly SimPod[] = [
  { name: "web-2", labels: { app: "web" } },
  { name: "web-10", labels: { app: "web" } },
  { name: "crash", annotations: { "sim.berth.dev/main": "run 1s, exit 1" } },
  { name: "other", namespace: "shop" },
  { name: longName },
];
let node: SimNode;
let browser: TestBrowser;
let page: Page;

beforeAll(async () => {
  node = await SimNode.start(pods);
  browser = await TestBrowser.start(node.folder);
  page = await browser.open(await node.login());
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
});

function names(): Promise<string[]> {
  return page.locator("tbody .column-name a").allTextContents();
}

test("logging in leaves no code in the address, and shows the pods", async () => {
  await page.getByRole("link", { name: "crash-edge-1" }).waitFor();
  expect(page.url()).toBe(`${node.origin}/#/pods`);
  await expect.poll(names).toHaveLength(pods.length);
});

test("a status is worded as kubectl does, and follows the pod", async () => {
  const row = page.getByRole("row", { name: /crash-edge-1/ });
  await row.getByText("CrashLoopBackOff").waitFor();
  await row.getByText(/^[1-9]\d* \(\d+s ago\)$/).waitFor();
});

test("a pod that is added to the folder appears by itself", async () => {
  node.write({ name: "late" });
  await page.getByRole("link", { name: "late-edge-1" }).waitFor();
});

test("/ goes to the search, which finds by name, label and status", async () => {
  await page.locator("body").press("/");
  const search = page.getByRole("searchbox");
  expect(await search.evaluate((field) => field === document.activeElement)).toBe(true);
  await search.fill("app=web");
  await expect.poll(names).toEqual(["web-2-edge-1", "web-10-edge-1"]);
  await search.fill("crashloop");
  await expect.poll(names).toEqual(["crash-edge-1"]);
  await search.fill("nothing of the kind");
  await page.getByText("No pod matches.").waitFor();
  await search.fill("");
});

test("the table is sorted by a column's head, and says so to screen readers", async () => {
  const head = page.getByRole("columnheader", { name: "Name", exact: true });
  await head.getByRole("button").press("Enter");
  expect(await head.getAttribute("aria-sort")).toBe("ascending");
  const ascending = await names();
  await head.getByRole("button").press("Enter");
  expect(await head.getAttribute("aria-sort")).toBe("descending");
  expect(await names()).toEqual(ascending.toReversed());
});

test("a namespace and problems alone can be shown", async () => {
  await page.getByLabel("Namespace", { exact: true }).selectOption("shop");
  await expect.poll(names).toEqual(["other-edge-1"]);
  await page.getByLabel("Namespace", { exact: true }).selectOption("");
  await page.getByRole("button", { name: /^Problems/ }).click();
  await expect.poll(names).toEqual(["crash-edge-1"]);
  await page.getByRole("button", { name: /^Problems/ }).click();
});

test("a search for HTML is text, as everything is", async () => {
  await page.getByRole("searchbox").fill(hostile);
  await page.getByText("No pod matches.").waitFor();
  expect(await page.title()).toBe("Berth");
  await page.getByRole("searchbox").fill("");
});

test.each([390, 1280])("nothing is wider than a window of %i pixels", async (width) => {
  for (const view of ["pods", "node", "plan"]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${node.origin}/#/${view}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
  }
});

test("every control has a name for screen readers", async () => {
  for (const view of ["pods", "node", "plan"]) {
    await page.goto(`${node.origin}/#/${view}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("a, button, input, select, textarea, svg[role=img]")]
        .filter((element) => {
          const labels = element instanceof HTMLInputElement ? (element.labels ?? []) : [];
          const text = element.textContent ?? "";
          const label = element.getAttribute("aria-label") ?? "";
          const byId = document.querySelector(`label[for="${element.id}"]`);
          return `${text}${label}`.trim() === "" && labels.length === 0 && byId === null;
        })
        .map((element) => element.outerHTML),
    );
    expect(nameless).toEqual([]);
  }
});

test("no request leaves the machine, and nothing goes wrong in the console", () => {
  expect(browser.foreignRequests(node.origin)).toEqual([]);
  expect(browser.errors).toEqual([]);
  expect(browser.requests.length).toBeGreaterThan(5);
});
