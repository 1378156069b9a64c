import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimeContainerId } from "../../src/model/ids.ts";
import { type ServedApi, serveApi } from "../fakes/served-api.ts";
import { type ServedUiPage, serveUi } from "../fakes/served-ui.ts";
import { buildProgram } from "../integration/support/agent-process.ts";
import { RuntimeAgentView } from "../integration/support/runtime-agent-view.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../integration/support/runtime-world.ts";
import { runningPod } from "../kit/pods.ts";
import { TestBrowser } from "./support/browser.ts";

const hostileLines = [
  "<img src=x onerror=\"document.title='owned'\">",
  "<script>document.title='owned'</script>",
  "\u001b[31mred\u001b[0m \u001b]0;owned\u0007title",
  "turned \u202eexe.txt around",
  "x".repeat(300_000),
  "the last line",
];

describe("the page of a real container", () => {
  let world: RuntimeWorld;
  let containerId: string;
  let api: ServedApi;
  let page: ServedUiPage;
  let browser: TestBrowser;
  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network: 45 });
    ({ containerId } = await world.runPod({ name: "web", command: ["sleep", "3600"] }));
    const view = new RuntimeAgentView(world, containerId);
    const pod = runningPod("web");
    view.put(pod);
    const explanation = { pod, workerState: "syncing", syncs: [], awaiting: [] };
    view.explanations.set(pod.metadata.uid, explanation);
    const path = join(world.dataDir, "hostile.log");
    const stamp = "2026-01-01T00:00:00Z stdout F";
    writeFileSync(path, hostileLines.map((line) => `${stamp} ${line}\n`).join(""));
    view.logs.set("web/main", { path, finished: () => Promise.resolve(false) });
    api = await serveApi(view);
    page = await serveUi({ agentSocket: api.socketPath, terminal: true, pageFolder: "dist/ui" });
    browser = await TestBrowser.start(world.dataDir);
  });
  afterAll(async () => {
    // What of it there is: its beginning may have failed.
    try {
      await browser?.close();
      await page?.stop();
      await api?.stop();
    } finally {
      await world?.close();
    }
  });

  async function open(tab: string): Promise<Page> {
    return browser.open(page.loginAddress()).then(async (opened) => {
      await opened.locator("header.header").waitFor();
      await opened.evaluate((hash) => location.assign(hash), `#/pods/default/web/${tab}`);
      return opened;
    });
  }

  async function openTerminal(): Promise<Page> {
    const opened = await open("terminal");
    await opened.getByRole("button", { name: "Run" }).click();
    await opened.locator(".terminal-rows", { hasText: "/ #" }).waitFor();
    return opened;
  }

  /** The commands that run in the container. */
  async function processes(): Promise<string> {
    const { stdout } = await world.runtime.execSync(
      runtimeContainerId(containerId),
      ["ps", "-o", "args"],
      60,
      AbortSignal.timeout(60_000),
    );
    return Buffer.from(stdout ?? []).toString();
  }

  test("what is typed in its terminal is run, in a terminal of the size that is shown", async () => {
    const opened = await openTerminal();
    await opened.keyboard.type("echo $((6*7))-times\n");
    await opened.locator(".terminal-rows", { hasText: "42-times" }).waitFor();
    await opened.keyboard.type("clear; stty size\n");
    const rows = await opened.locator(".terminal-row").count();
    await opened.locator(".terminal-row", { hasText: new RegExp(`^${rows} \\d+ *$`) }).waitFor();
    await opened.setViewportSize({ width: 900, height: 500 });
    await expect.poll(() => opened.locator(".terminal-row").count()).not.toBe(rows);
    await opened.keyboard.type("exit 5\n");
    await opened.getByText("ended with exit code 5").waitFor();
    await opened.close();
    expect(browser.errors).toEqual([]);
  });

  test("what runs in it ends with the tab", async () => {
    const opened = await openTerminal();
    await opened.keyboard.type("sleep 4323\n");
    await expect.poll(processes).toContain("sleep 4323");
    await opened.close();
    await expect.poll(processes).not.toContain("sleep 4323");
  });

  test("hostile lines of its log are text, and do nothing", async () => {
    const opened = await open("logs");
    const log = opened.locator(".log");
    await log.getByText("the last line").waitFor();
    const lines = await log.locator(".log-line").allTextContents();
    expect(lines.slice(0, 4)).toEqual([
      hostileLines[0],
      hostileLines[1],
      "red title",
      "turned <U+202E>exe.txt around",
    ]);
    expect(lines[4]).toMatch(/^x{4000}… \(\d+ more characters\)$/);
    expect(await opened.title()).toBe("Berth");
    expect(await log.locator("img, script").count()).toBe(0);
    await opened.getByRole("searchbox").fill("LAST");
    await opened.getByText("1 of 6 lines").waitFor();
    expect(await log.locator("mark").allTextContents()).toEqual(["last"]);
    await opened.close();
  });
});
