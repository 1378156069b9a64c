import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode } from "./support/sim-node.ts";

describe("the view of one pod", () => {
  let node: SimNode;
  let browser: TestBrowser;
  let page: Page;
  beforeAll(async () => {
    node = await SimNode.start(
      [
        { name: "crash", annotations: { "sim.berth.dev/main": "run 1s, exit 3" } },
        {
          name: "waiting",
          image: "example.com/other:1",
          annotations: { "sim.berth.dev/main.pull": "take 1s, fail" },
        },
        { name: "healthy" },
      ],
      "--speed",
      "20",
    );
    browser = await TestBrowser.start(node.folder);
    page = await browser.open(await node.login());
    await page.locator("header.header").waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await node?.close();
  });

  async function go(path: string): Promise<void> {
    await page.evaluate((hash) => location.assign(hash), `#/pods/default/${path}`);
  }

  test("has the runs of a crashing pod in its timeline, and says on focus why each step was taken", async () => {
    await go("crash-edge-1");
    const runs = page.getByRole("button", { name: /^main: .*exit 3/ });
    await runs.first().waitFor();
    await page.locator(".bar[tabindex='0']").focus();
    for (const key of ["End", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    await page
      .getByRole("region", { name: "Details" })
      .getByText(/exit|running|CrashLoopBackOff/)
      .first()
      .waitFor();
    const plan = page.locator(".bar[data-item='plan']").first();
    await plan.hover();
    const details = page.getByRole("region", { name: "Details" });
    await details.getByText("Because", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "All" }).click();
  });

  test("says what a pod waits for, and has its events", async () => {
    await go("waiting-edge-1/events");
    await page.getByRole("list", { name: "Awaited" }).waitFor();
    await page
      .getByRole("cell", { name: /Failed to pull image/ })
      .first()
      .waitFor();
  });

  test("has the log of a healthy pod, and its manifest with what was filled in marked", async () => {
    await go("healthy-edge-1/logs");
    await page.locator(".log").getByText("run 1").waitFor();
    await go("healthy-edge-1/manifest");
    await page.locator(".manifest-line.defaulted", { hasText: "restartPolicy: Always" }).waitFor();
    const written = page.locator(".manifest-line:not(.defaulted)", {
      hasText: "image: example.com/app:1",
    });
    await written.waitFor();
  });

  test("offers no terminal where that is off, and says how to switch it on", async () => {
    await go("healthy-edge-1/terminal");
    await page.getByText("--ui-terminal").waitFor();
    expect(await page.getByRole("button", { name: "Run" }).count()).toBe(0);
  });

  test("shows a pod that is not there as such, whatever its name", async () => {
    await go(encodeURIComponent("<img src=x onerror=alert(1)>"));
    await page.getByText("There is no such pod on this node").waitFor();
    await page.getByRole("heading", { name: "<img src=x" }).waitFor();
    expect(browser.errors.filter((text) => text.includes("Security Policy"))).toEqual([]);
    expect(browser.foreignRequests(node.origin)).toEqual([]);
  });
});
