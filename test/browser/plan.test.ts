import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode } from "./support/sim-node.ts";

let node: SimNode;
let browser: TestBrowser;
let page: Page;

beforeAll(async () => {
  node = await SimNode.start([{ name: "web" }]);
  browser = await TestBrowser.start(node.folder);
  page = await browser.open(await node.login());
  await page.getByRole("link", { name: "What if" }).click();
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
});

const manifest = `apiVersion: v1
kind: Pod
metadata: { name: small }
spec:
  containers: [{ name: main, image: "app:1" }]
---
apiVersion: v1
kind: Pod
metadata:
  name: "<img src=x onerror=alert(1)>"
spec:
  containers:
    - name: main
      image: app:1
      imagePullPolicy: Sometimes
---
apiVersion: v1
kind: Pod
metadata: { name: huge }
spec:
  containers: [{ name: main, image: "app:1", resources: { requests: { cpu: "200" } } }]
`;

test("each document gets its verdict for this node", async () => {
  await page.getByLabel(/^Manifest/).fill(manifest);
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  const cards = page.getByRole("article");
  await expect.poll(() => cards.count()).toBe(3);
  const headings = await cards.getByRole("heading").allTextContents();
  expect(headings).toEqual([
    "accepted Pod default/small-edge-1",
    "refused Document",
    "rejected Pod default/huge-edge-1",
  ]);
  await cards.nth(0).getByText("create the sandbox").waitFor();
  await cards
    .nth(2)
    .getByText(/OutOfcpu/)
    .waitFor();
});

test("a problem names its field, and its line leads to it", async () => {
  const problem = page.getByRole("listitem").filter({ hasText: "imagePullPolicy" });
  await problem.getByText(/Unsupported value: "Sometimes"/).waitFor();
  await problem.getByRole("button", { name: "line 15, column 7" }).click();
  const selected = await page
    .getByLabel(/^Manifest/)
    .evaluate((field: HTMLTextAreaElement) =>
      field.value.slice(field.selectionStart, field.selectionEnd),
    );
  expect(selected).toBe("imagePullPolicy: Sometimes");
});

test("a name that is HTML is shown as it is", async () => {
  await page.getByText("<img src=x onerror=alert(1)>-edge-1", { exact: false }).first().waitFor();
  expect(await page.locator("main img").count()).toBe(0);
});

test("what is not YAML is a problem with its line", async () => {
  await page.getByLabel(/^Manifest/).fill("kind: Pod\n  name: [");
  await page.getByLabel(/^Manifest/).press("Control+Enter");
  await page
    .getByRole("article")
    .getByRole("button", { name: /^line 2/ })
    .waitFor();
});

test("10 MB that are pasted are refused with a message, and the page goes on", async () => {
  const field = page.getByLabel(/^Manifest/);
  await field.fill("");
  await field.evaluate((element) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "a: b\n".repeat(2_000_000));
    const options = { clipboardData, bubbles: true, cancelable: true };
    if (element.dispatchEvent(new ClipboardEvent("paste", options))) throw new Error("it is taken");
  });
  await page
    .getByRole("alert")
    .getByText(/9\.5 MiB.*at most 1\.0 MiB/)
    .waitFor();
  await field.fill("kind: Nothing");
  await field.press("Control+Enter");
  await page.getByRole("article").getByText("refused").waitFor();
});

test("a file of 10 MB is refused as well, a small one is planned", async () => {
  const large = join(node.folder, "large.yaml");
  writeFileSync(large, "a: b\n".repeat(2_000_000));
  await page.getByLabel("Open a file").setInputFiles(large);
  await page.getByRole("alert").waitFor();
  const small = join(node.folder, "small.yaml");
  writeFileSync(small, manifest.split("---")[0] ?? "");
  await page.getByLabel("Open a file").setInputFiles(small);
  await page.getByRole("heading", { name: "accepted Pod default/small-edge-1" }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("nothing of it is sent anywhere", () => {
  expect(browser.foreignRequests(node.origin)).toEqual([]);
  expect(
    browser.requests.filter((url) => url.includes("plan") && !url.includes("/assets/")),
  ).toEqual([]);
});
