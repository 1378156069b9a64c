import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestBrowser } from "./support/browser.ts";
import { SimNode } from "./support/sim-node.ts";

let node: SimNode;
let browser: TestBrowser;
let page: Page;
/** A server on another port, which the same browser visits. */
let neighbour: Server;
let neighbourOrigin: string;

beforeAll(async () => {
  node = await SimNode.start([{ name: "web" }]);
  // Names that lead here, as an attacker's DNS would have them.
  browser = await TestBrowser.start(node.folder, { hosts: "MAP *.example.com 127.0.0.1" });
  page = await browser.open(await node.login());
  await page.getByRole("link", { name: "web-edge-1" }).waitFor();
  neighbour = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html").end("<!doctype html><title>Other</title>");
  });
  await new Promise<void>((resolve) => neighbour.listen(0, "127.0.0.1", resolve));
  neighbourOrigin = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`;
});
afterAll(async () => {
  neighbour?.close();
  await browser?.close();
  await node?.close();
});

test("the cookie alone, as other ports of the machine see it, opens nothing", async () => {
  const status = await page.evaluate(async () => (await fetch("/api/v1/pods")).status);
  expect(status).toBe(401);
});

test("the key alone, as a script might steal it, opens nothing elsewhere", async () => {
  const key = await page.evaluate(() => localStorage.getItem("berth-key") ?? "");
  expect(key).not.toBe("");
  const answer = await fetch(`${node.origin}/api/v1/pods`, { headers: { "berth-key": key } });
  expect(answer.status).toBe(401);
});

test("scripts cannot read the cookie", async () => {
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const [cookie] = await browser.context.cookies(node.origin);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
});

test("a page of another origin reads nothing, though it has the key", async () => {
  const key = await page.evaluate(() => localStorage.getItem("berth-key") ?? "");
  const other = await browser.open(neighbourOrigin);
  const read = await other.evaluate(
    async ([origin, key]) => {
      const ways: RequestInit[] = [
        { credentials: "include" },
        { credentials: "include", headers: { "berth-key": key } },
        { credentials: "include", mode: "no-cors" },
      ];
      return Promise.all(
        ways.map((options) =>
          fetch(`${origin}/api/v1/pods`, options).then(
            async (answer) => `${answer.type} ${await answer.text()}`,
            () => "refused",
          ),
        ),
      );
    },
    [node.origin, key] as const,
  );
  expect(read.slice(0, 2)).toEqual(["refused", "refused"]);
  expect(["opaque ", "refused"]).toContain(read[2]);
  await other.close();
});

test("a page of another origin cannot use a login", async () => {
  const link = await node.login();
  const code = new URL(link).hash.replace("#login=", "");
  const other = await browser.open(neighbourOrigin);
  await other.evaluate(
    async ([origin, code]) => {
      const body = JSON.stringify({ code });
      const options: RequestInit = { method: "POST", body, mode: "no-cors" };
      await fetch(`${origin}/ui/login`, options).catch(() => undefined);
    },
    [node.origin, code] as const,
  );
  await other.close();
  const rightful = await TestBrowser.start(node.folder);
  try {
    const shown = await rightful.open(link);
    await shown.getByRole("link", { name: "web-edge-1" }).waitFor();
  } finally {
    await rightful.close();
  }
});

test("the page is not shown in a frame", async () => {
  const other = await browser.open(neighbourOrigin);
  await other.evaluate((origin) => {
    const frame = document.createElement("iframe");
    frame.src = `${origin}/`;
    document.body.append(frame);
    return new Promise((resolve) => frame.addEventListener("load", resolve));
  }, node.origin);
  const framed = other.frames().find((frame) => frame !== other.mainFrame());
  expect(await framed?.locator("#page").count()).toBe(0);
  await other.close();
});

test("the page is not served by a name that another site can lead here", async () => {
  const { port } = new URL(node.origin);
  const other = await browser.context.newPage();
  const answer = await other.goto(`http://rebound.example.com:${port}/`);
  expect(answer?.status()).toBe(403);
  await other.close();
});

test("a login that was used shows how to get a new one, and lets no other browser in", async () => {
  const link = await node.login();
  const first = await TestBrowser.start(node.folder);
  const second = await TestBrowser.start(node.folder);
  try {
    const shown = await first.open(link);
    await shown.getByRole("link", { name: "web-edge-1" }).waitFor();
    const refused = await second.open(link);
    await refused
      .getByRole("alert")
      .getByText(/was used, has expired or never existed/)
      .waitFor();
    await refused.getByText("berth ui", { exact: true }).waitFor();
    expect(await refused.locator("table").count()).toBe(0);
    expect(await refused.evaluate(() => location.href)).not.toContain("login=");
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

test("while the agent is gone the page says so, and asks for a login when it is back", async () => {
  await node.down();
  await page.getByText(/Not current/).waitFor();
  expect(await page.getByRole("link", { name: "web-edge-1" }).count()).toBe(1);
  await node.up();
  await page.getByText("run `berth ui` on the node to log in").waitFor();
  await page.goto(await node.login());
  await page.getByRole("link", { name: "web-edge-1" }).waitFor();
});
