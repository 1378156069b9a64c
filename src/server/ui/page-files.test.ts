import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toHttpError } from "../http-error.ts";
import { sendPageFile } from "./page-files.ts";

let folder = "";
let server: Server;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-page-"));
  mkdirSync(join(folder, "assets"));
  server = createServer((request, response) => {
    const path = (request.url ?? "").slice(1);
    sendPageFile(response, folder, { path, acceptsGzip: true, isImmutable: false }).catch(
      (error: unknown) => response.writeHead(toHttpError(error).code).end(),
    );
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function ask(path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`);
}

/** The files of the page that this process has open. */
function openFiles(): readonly string[] {
  const links = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      // The one with which the folder was read.
      return "";
    }
  });
  return links.filter((path) => path.startsWith(folder));
}

test("a file is sent, and closed", async () => {
  writeFileSync(join(folder, "assets/main.js"), "0");
  expect(await (await ask("assets/main.js")).text()).toBe("0");
  await expect.poll(openFiles).toEqual([]);
});

test.each(["assets/main.js.gz", "assets/none.js"])(
  "%s is none of the page's, and nothing stays open",
  async (path) => {
    writeFileSync(join(folder, "assets/main.js.gz"), "");
    expect((await ask(path)).status).toBe(404);
    expect(openFiles()).toEqual([]);
  },
);
