import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogQueries } from "./query-logs.ts";
import { parseQuery } from "./request-target.ts";

let folder: string;
let server: Server;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-logs-"));
  mkdirSync(join(folder, "log/nginx"), { recursive: true });
  writeFileSync(join(folder, "log/sshd.log"), "a login\n");
  writeFileSync(join(folder, "log/nginx/nginx.log"), "a page\n");
  symlinkSync("/etc/passwd", join(folder, "log/users.log"));
  const journalctl = join(folder, "journalctl");
  const script = [
    "#!/bin/sh",
    'if [ "$1" = --field ]; then echo kubelet.service; exit 0; fi',
    'for each in "$@"; do echo "[$each]"; done',
  ];
  writeFileSync(journalctl, `${script.join("\n")}\n`);
  chmodSync(journalctl, 0o755);
  const queries = new LogQueries({ folder: join(folder, "log"), journalctl });
  server = createServer((request, response) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const parameters = { logpath: path.replace("/logs/", "") };
    const { signal } = new AbortController();
    void queries.answer({
      parameters,
      path,
      query: parseQuery(query),
      request,
      response,
      signal,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ readonly status: number | undefined; readonly body: Buffer }>(
    (resolve, reject) => {
      get({ host: "127.0.0.1", port, path, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          resolve({ status: response.statusCode, body: Buffer.concat(parts) });
        });
      }).on("error", reject);
    },
  );
}

async function textOf(path: string): Promise<string> {
  return (await ask(path)).body.toString();
}

test("a service that logs to the journal is read there, each flag one argument", async () => {
  const text = await textOf("/logs/?query=kubelet&tailLines=5&pattern=a%20%24(id)");
  expect(text.trim().split("\n")).toEqual([
    "[--utc]",
    "[--no-pager]",
    "[--output=short-precise]",
    "[--pager-end]",
    "[--lines=5]",
    "[--grep=a $(id)]",
    "[--unit=kubelet]",
  ]);
});

test("another service is looked for in files of its name, and no link leads out", async () => {
  expect(await textOf("/logs/?query=sshd&query=nginx")).toBe("a login\na page\n");
  expect(await textOf("/logs/?query=users")).toBe("\nlog not found for users\n");
  expect(await textOf("/logs/?query=sshd&tailLines=5")).toContain(
    "options present and query resolved to log files for [sshd]",
  );
});

test("an answer is compressed for a client that asks for that alone", async () => {
  const { body } = await ask("/logs/?query=sshd", { "Accept-Encoding": "gzip" });
  expect(gunzipSync(body).toString()).toBe("a login\n");
});

test("without a query files are served, and a query has no path", async () => {
  expect(await textOf("/logs/sshd.log")).toBe("a login\n");
  expect(await textOf("/logs/?query=nginx/nginx.log")).toBe("a page\n");
  expect(await ask("/logs/nginx/?query=sshd")).toMatchObject({ status: 406 });
  expect(await ask("/logs/?query=%3Bid")).toMatchObject({ status: 406 });
});
