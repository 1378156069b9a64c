// What went wrong in node agents before, tried against the real server on loopback.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect as connectPlain } from "node:net";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ServedKubeletApi,
  serveKubelet,
  withFolder,
} from "../../test/fakes/served-kubelet-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../../test/kit/test-authority.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import type { KeyPair } from "../model/key-pair.ts";
import { answerSystemLogs } from "../server/kubelet/system-logs.ts";

const spdy = { Connection: "Upgrade", Upgrade: "SPDY/3.1" };
const exec = "/exec/default/web/main?command=id&output=1";

let authority: TestAuthority;
let serving: KeyPair;
let api: ServedKubeletApi;

beforeAll(async () => {
  authority = createTestAuthority();
  serving = authority.issue("/CN=node-1");
  api = await serveKubelet(serving);
  api.view.put(runningPod("web"));
  api.reviews.users.set("robot", { username: "robot" });
  api.reviews.allowed.add("robot * *");
});

afterAll(async () => {
  await api.stop();
  authority.remove();
});

/** A server in the place of the runtime's, with one answer to every upgrade. */
async function runtimeThat(answer: string): Promise<{ server: Server; heads: string[] }> {
  const heads: string[] = [];
  const server = createServer();
  server.on("upgrade", (request, socket) => {
    heads.push([request.url, ...request.rawHeaders].join("\n"));
    socket.on("error", () => socket.destroy());
    socket.write(answer);
    if (!answer.startsWith("HTTP/1.1 101")) socket.end();
    else socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  api.view.streamingUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/t`);
  return { server, heads };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Sends raw text over TLS, and collects what comes until the other side ends. */
async function raw(text: string, port = api.ports.secure ?? 0): Promise<string> {
  const socket = await dial(port);
  socket.write(text);
  return drain(socket);
}

function dial(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    );
    socket.on("error", reject);
  });
}

function drain(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
  });
}

describe("streams", () => {
  test("bytes flow both ways; the runtime sees neither token nor origin", async () => {
    const { server, heads } = await runtimeThat(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ",
    );
    const socket = await dial(api.ports.secure ?? 0);
    socket.write(
      `POST ${exec} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer robot\r\nOrigin: https://evil\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`,
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 101 [\s\S]*hello $/);
    socket.write("echo");
    await expect.poll(() => text).toMatch(/hello echo$/);
    socket.end();
    expect(heads).toHaveLength(1);
    expect(heads[0]).toContain("X-Stream-Protocol-Version\nv4.channel.k8s.io");
    expect(heads[0]).not.toMatch(/robot|evil/);
    await close(server);
  });

  test.each([
    ["HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", 500],
    ["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret", 500],
    ["HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nsecret", 403],
    ["HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\nsecret", 500],
  ])(
    "a response that is not an upgrade ends both connections and reveals nothing: %j",
    async (answer, status) => {
      const { server } = await runtimeThat(answer);
      const got = await api.ask(exec, { method: "POST", token: "robot", headers: spdy });
      expect(got).toMatchObject({ status, headers: { connection: "close" } });
      expect(got.body).not.toMatch(/secret|169\.254/);
      await close(server);
    },
  );

  test("a streaming address elsewhere is never dialled", async () => {
    for (const url of ["http://10.0.0.1:80/t", "https://127.0.0.1/t", "http://localhost/t"]) {
      api.view.streamingUrl = new URL(url);
      const got = await api.ask(exec, { method: "POST", token: "robot", headers: spdy });
      expect(got).toMatchObject({
        status: 500,
        body: "the runtime's streaming address is not on this machine\n",
      });
    }
  });

  test("a request behind a refused upgrade is not answered", async () => {
    const { server } = await runtimeThat("HTTP/1.1 500 Oops\r\n\r\n");
    const text = await raw(
      `POST ${exec} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer robot\r\n\r\nGET /pods HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer robot\r\n\r\n`,
    );
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(text).not.toContain("PodList");
    await close(server);
  });

  test("a stream without a byte is closed in time", async () => {
    const idle = await serveKubelet(serving, {
      config: { streamingConnectionIdleTimeout: "100ms" },
    });
    idle.view.put(runningPod("web"));
    idle.reviews.users.set("robot", { username: "robot" });
    idle.reviews.allowed.add("robot * *");
    const { server } = await runtimeThat(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
    );
    idle.view.streamingUrl = api.view.streamingUrl;
    const text = await raw(
      `POST ${exec} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer robot\r\n\r\n`,
      idle.ports.secure,
    );
    expect(text).toContain("101");
    await idle.stop();
    await close(server);
  });

  test("an upgrade request to an endpoint without streams is answered as a plain one", async () => {
    const got = await api.ask("/pods", { token: "robot", headers: spdy });
    expect(got).toMatchObject({ status: 200, headers: { connection: "close" } });
    expect(JSON.parse(got.body)).toMatchObject({ kind: "PodList" });
    const plain = await api.ask(exec, { method: "POST", token: "robot" });
    expect(plain).toMatchObject({ status: 500, body: "Upgrade request required\n" });
  });
});

describe("odd requests", () => {
  const bearer = "Host: n\r\nAuthorization: Bearer reader\r\nConnection: close\r\n\r\n";

  test("no way of writing a path asks for less than its endpoint", async () => {
    api.reviews.users.set("reader", { username: "reader" });
    api.reviews.allowed.add("reader get metrics").add("reader get healthz");
    const targets = [
      "/metrics/..%2fpods",
      "/metrics/..%2fconfigz",
      "/metrics/%2e%2e/configz",
      "/healthz/..%2fstats/summary",
      "/metrics/%2e%2e/pods",
      "/metrics/../pods",
      "//pods",
      "/healthz/..%2fexec/default/web/main",
      "/%2e/pods",
      "/pods%2f..%2fmetrics",
      "/pods;/metrics",
      "/pods/..%2fmetrics",
      "http://other/pods",
      "/pods?path=/metrics",
      "/PODS",
      "/metrics%00/pods",
      "/exec/default/web/main/%2e%2e/metrics",
    ];
    for (const target of targets) {
      const text = await raw(`GET ${target} HTTP/1.1\r\n${bearer}`);
      expect({ target, text }).toEqual({
        target,
        text: expect.stringMatching(/^HTTP\/1\.1 (?:307|403|404) /),
      });
    }
  });

  test.each([
    ["a request that is none", "hello\r\n\r\n", 400],
    ["headers beyond all measure", `GET /pods HTTP/1.1\r\nX: ${"x".repeat(300_000)}\r\n\r\n`, 431],
    [
      "two lengths",
      "POST /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      400,
    ],
    [
      "a length and chunks",
      "POST /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
  ])("%s", async (_, text, status) => {
    expect(await raw(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("plain HTTP is not spoken", async () => {
    const socket = connectPlain({ host: "127.0.0.1", port: api.ports.secure ?? 0 });
    socket.on("error", () => undefined);
    socket.write("GET /pods HTTP/1.1\r\nHost: n\r\n\r\n");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    await new Promise((resolve) => socket.on("close", resolve));
    expect(text).not.toContain("HTTP/1.1 200");
  });

  test("only TLS of today, and no other protocol over it", async () => {
    const port = api.ports.secure ?? 0;
    await expect(dial(port, { minVersion: "TLSv1", maxVersion: "TLSv1.1" })).rejects.toThrow("SSL");
    const socket = await dial(port, { ALPNProtocols: ["h2", "http/1.1"] });
    expect(socket.alpnProtocol).toBe("http/1.1");
    socket.destroy();
  });
});

describe("certificates that change", () => {
  test("the serving certificate is exchanged while connections go on", async () => {
    let current = serving;
    let notify: () => void = () => undefined;
    const certificate = {
      current: () => current,
      onChange: (listener: (pair: KeyPair) => void) => {
        notify = () => listener(current);
      },
    };
    const served = await serveKubelet(serving, { certificate });
    const serialOf = async (): Promise<string> => {
      const socket = await dial(served.ports.secure ?? 0);
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    const before = await serialOf();
    const open = await dial(served.ports.secure ?? 0);
    current = authority.issue("/CN=node-1");
    notify();
    expect(await serialOf()).not.toBe(before);
    open.write("GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n");
    expect(await drain(open)).toContain("401 Unauthorized");
    current = { certPem: "broken", keyPem: "broken" };
    notify();
    expect(await serialOf()).not.toBe(before);
    await served.stop();
  });

  test("a client whose CA is removed is not authenticated, also on its open connection", async () => {
    await withFolder(async (folder) => {
      const other = createTestAuthority();
      const clientCAFile = join(folder, "ca.crt");
      writeFileSync(clientCAFile, authority.caPem);
      const { authentication } = fileDefaultConfig();
      // Time passes as soon as there is a waiter.
      const rounds: (() => void)[] = [];
      const clock = {
        nowMs: () => Date.now(),
        monotonicMs: () => performance.now(),
        startTimer: () => ({ stop: () => undefined }),
        sleep: () => new Promise<void>((resolve) => rounds.push(resolve)),
      };
      const served = await serveKubelet(serving, {
        clock,
        config: { authentication: { ...authentication, x509: { clientCAFile } } },
      });
      served.reviews.allowed.add("admin * *");
      const { certPem: cert, keyPem: key } = authority.issue("/CN=admin");
      const socket = await dial(served.ports.secure ?? 0, { cert, key });
      const ask = async (): Promise<string> => {
        socket.write("GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n");
        return new Promise((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
      };
      expect(await ask()).toContain("200 OK");
      writeFileSync(clientCAFile, other.caPem);
      rounds.shift()?.();
      await expect.poll(() => served.logged.join("\n")).toContain("other authorities");
      expect(await ask()).toContain("401 Unauthorized");
      socket.destroy();
      const newcomer = other.issue("/CN=admin");
      const { status } = await served.ask("/healthz", {
        cert: newcomer.certPem,
        key: newcomer.keyPem,
      });
      expect(status).toBe(200);
      const stopped = served.stop();
      rounds.shift()?.();
      await stopped;
      other.remove();
    });
  });
});

describe("/logs", () => {
  async function serveLogs(
    root: string,
  ): Promise<{ server: Server; get: (path: string) => Promise<Response> }> {
    const server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? "");
      const exchange = {
        parameters: { logpath: path.replace(/^\/logs\/|\/$/g, "") },
        path,
        query: new Map(),
        request,
        response,
        signal: new AbortController().signal,
      };
      void answerSystemLogs(root, exchange);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { server, get: (path) => fetch(`${origin}${path}`, { redirect: "manual" }) };
  }

  test("files are text, names are escaped, and no link leads out", async () => {
    await withFolder(async (folder) => {
      const root = join(folder, "log");
      mkdirSync(join(root, "pods/<b>"), { recursive: true });
      writeFileSync(join(folder, "secret"), "secret");
      mkdirSync(join(folder, "log-other"));
      writeFileSync(join(folder, "log-other/x"), "secret");
      writeFileSync(join(root, "page.html"), "<script>alert(1)</script>");
      writeFileSync(join(root, "pods/a.log"), "hello");
      symlinkSync("../secret", join(root, "out"));
      symlinkSync("../log-other", join(root, "beside"));
      symlinkSync("/", join(root, "pods/root"));
      symlinkSync("pods/a.log", join(root, "inside"));
      const { server, get } = await serveLogs(root);
      const page = await get("/logs/page.html");
      expect(await page.text()).toBe("<script>alert(1)</script>");
      expect(page.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
      expect(await (await get("/logs/inside")).text()).toBe("hello");
      const listing = await (await get("/logs/pods/")).text();
      expect(listing).toContain('<a href="%3Cb%3E/">&lt;b&gt;/</a>');
      for (const path of [
        "out",
        "beside/x",
        "pods/root/etc/passwd",
        "none",
        "..%2fsecret",
        "%2e%2e/secret",
      ]) {
        const answer = await get(`/logs/${path}`);
        const isRefused = answer.status >= 400 && !(await answer.text()).includes("secret");
        expect({ path, isRefused }).toEqual({ path, isRefused: true });
      }
      expect((await get("/logs/pods")).headers.get("location")).toBe("pods/");
      await close(server);
    });
  });
});
