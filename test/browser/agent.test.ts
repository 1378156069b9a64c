import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest, shell } from "../integration/support/agent-manifests.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";
import { TestBrowser } from "./support/browser.ts";

/** The network of these tests. */
const network = 220;

let world: AgentWorld;
let browser: TestBrowser;
let page: Page;
let address = "127.0.0.1:0";

beforeAll(async () => {
  world = await AgentWorld.create(network);
  await up();
  await world.importImages();
  world.write("healthy.json", podManifest("healthy"));
  world.write("crash.json", podManifest("crash", { containers: [shell("main", "exit 3")] }));
  const init = shell("prepare", "sleep 3600");
  world.write("waits.json", podManifest("waits", { initContainers: [init] }));
  browser = await TestBrowser.start(world.folder);
  page = await browser.open(await login());
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
});

async function up(): Promise<void> {
  const agent = await world.up(`--ui=${address}`);
  await agent.untilPrinted(({ stderr }) => stderr.includes("the page is served"));
  address = new URL(await login()).host;
}

async function login(): Promise<string> {
  return (await world.berth("ui", "--print")).stdout.trim();
}

function row(name: string) {
  return page.getByRole("row", { name: new RegExp(world.podName(name)) });
}

test("a healthy, a crashing and a waiting pod are worded as berth get pods words them", async () => {
  await row("healthy").getByText("Running").waitFor();
  await row("crash").getByText("CrashLoopBackOff").waitFor();
  await row("waits").getByText("Init:0/1").waitFor();
  const { stdout } = await world.berth("get", "pods");
  expect(stdout).toMatch(/healthy-node\s+1\/1\s+Running/);
  expect(stdout).toMatch(/waits-node\s+0\/1\s+Init:0\/1/);
});

test("a pod's own view opens from its row", async () => {
  await row("healthy").getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: /healthy-node/ }).waitFor();
  await page.goBack();
});

test("the node is shown with its conditions, what it uses and its images", async () => {
  await page.getByRole("link", { name: "Node", exact: true }).click();
  await page.getByRole("row", { name: /^Ready True/ }).waitFor();
  await page.getByRole("row", { name: /^MemoryPressure/ }).waitFor();
  await page.getByRole("img", { name: /^Memory, .*: used [\d.]+ [KMG]iB/ }).waitFor();
  await page.getByRole("img", { name: /^Processor, .*: used [\d.]+/ }).waitFor();
  await page.getByRole("img", { name: /^Disk, .*: used [\d.]+ [GT]iB/ }).waitFor();
  await page
    .getByRole("row", { name: /busybox/ })
    .first()
    .waitFor();
  await page.getByText("Started", { exact: true }).first().waitFor();
});

test("an agent that starts again leads to a login, and to the same pods as before", async () => {
  const beforeMs = Date.now();
  await page.getByRole("link", { name: "Pods", exact: true }).click();
  await world.agent.stop("SIGTERM");
  await page.getByText(/Not current/).waitFor();
  await up();
  await page.getByText("run `berth ui` on the node to log in").waitFor();
  await page.goto(await login());
  await row("healthy").getByText("Running").waitFor();
  expect(await row("healthy").locator(".column-restarts").textContent()).toBe("0");
  // What history holds survives the restart.
  await page.goto(`http://${address}/#/pods?at=${beforeMs}`);
  await page.getByText("Past", { exact: true }).waitFor();
  await row("waits").getByText("Init:0/1").waitFor();
});

test("no request leaves the machine", () => {
  expect(browser.foreignRequests(`http://${address}`)).toEqual([]);
});
