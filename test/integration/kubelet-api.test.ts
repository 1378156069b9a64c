// The kubelet's API of `berth kubelet`, on a real containerd with real containers.
import { mkdirSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentClient, type Upgraded } from "../../src/cli/agent-client.ts";
import { remoteCommandProtocol, runRemoteCommand } from "../../src/cli/exec/remote-command.ts";
import { SpdyConnection } from "../../src/server/spdy/connection.ts";
import { captureTerminal } from "../fakes/captured-terminal.ts";
import { freePort } from "../fakes/served-kubelet-api.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";
import { clientFrame, serverFrames, webSocketHeaders } from "../kit/websocket-client.ts";
import { podManifest, shell } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 94;
const podName = "web-node-a";
/** Serves a page, reads lines, and ends at once on SIGTERM. */
const script = [
  "trap 'exit 0' TERM",
  "mkdir -p /www && echo hello from the pod > /www/index.html",
  "httpd -p 8080 -h /www",
  "echo one; echo started",
  "while read line; do echo got $line; done",
  "sleep 3600 & wait",
].join("; ");

describe("the kubelet's API", () => {
  let world: RuntimeWorld;
  let folder: string;
  let port: number;
  let healthPort: number;
  let authority: TestAuthority;
  let agent: BerthProcess;
  let credentials: { readonly cert: string; readonly key: string };

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("kubelet-api");
    [port, healthPort] = [await freePort(), await freePort()];
    authority = createTestAuthority();
    const { certPem, keyPem } = authority.issue("/O=system:masters/CN=admin");
    credentials = { cert: certPem, key: keyPem };
    mkdirSync(join(folder, "manifests"));
    writeFileSync(join(folder, "resolv.conf"), "nameserver 10.1.2.3\n");
    writeFileSync(join(folder, "clients.crt"), authority.caPem);
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    const main = shell("main", script, { stdin: true });
    writeFileSync(join(folder, "manifests/web.json"), podManifest("web", { containers: [main] }));
    agent = new BerthProcess([
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--root-dir=${join(folder, "root")}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=node-a",
    ]);
    await agent.untilPrinted(({ stderr }) => stderr.includes("the kubelet's API is served"));
    await waitForPod(new AgentClient(join(folder, "root/berth.sock")), podName, isReady);
  });

  afterAll(async () => {
    if (agent.isRunning) await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
    await world.close();
    authority.remove();
    await removeFolder(folder);
  });

  function configText(): string {
    return [
      "apiVersion: kubelet.config.k8s.io/v1beta1",
      "kind: KubeletConfiguration",
      "staticPodPath: manifests",
      "podLogsDir: logs",
      "resolvConf: resolv.conf",
      `containerRuntimeEndpoint: ${world.containerd.endpoint}`,
      `cgroupRoot: ${world.cgroupRoot}`,
      "failCgroupV1: false",
      "failSwapOn: false",
      "evictionHard: {}",
      "address: 127.0.0.1",
      `port: ${port}`,
      `healthzPort: ${healthPort}`,
      "makeIPTablesUtilChains: false",
      "authentication: {webhook: {enabled: false}, x509: {clientCAFile: clients.crt}}",
      "authorization: {mode: AlwaysAllow}",
    ].join("\n");
  }

  interface Asked {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly anonymous?: boolean;
  }

  function send(path: string, { method = "GET", headers = {}, anonymous = false }: Asked) {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers,
      agent: false,
      rejectUnauthorized: false,
      ...(anonymous ? {} : credentials),
    });
    outgoing.end();
    return outgoing;
  }

  function open(path: string, asked: Asked = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) =>
      send(path, asked).on("response", resolve).on("error", reject),
    );
  }

  async function ask(path: string, asked: Asked = {}): Promise<{ status: number; body: string }> {
    const response = await open(path, asked);
    const body = Buffer.concat(await response.toArray()).toString();
    return { status: response.statusCode ?? 0, body };
  }

  function upgrade(
    path: string,
    headers: Readonly<Record<string, string>>,
    method = "POST",
  ): Promise<Upgraded> {
    return new Promise((resolve, reject) => {
      send(path, { method, headers: { Connection: "Upgrade", ...headers } })
        .on("upgrade", (_, connection, head) => resolve({ connection, head }))
        .on("response", (response) => reject(new Error(`HTTP ${response.statusCode}`)))
        .on("error", reject);
    });
  }

  const spdy = (protocol: string) => ({
    Upgrade: "SPDY/3.1",
    "X-Stream-Protocol-Version": protocol,
  });

  test("a client without a certificate is refused", async () => {
    for (const path of ["/pods", "/healthz", `/run/default/${podName}/main?cmd=id`]) {
      expect(await ask(path, { anonymous: true })).toEqual({ status: 401, body: "Unauthorized" });
    }
  });

  test("serves pods, running pods, health and usage", async () => {
    const { items } = JSON.parse((await ask("/pods")).body);
    expect(items).toMatchObject([{ metadata: { name: podName }, status: { phase: "Running" } }]);
    const running = JSON.parse((await ask("/runningpods/")).body);
    expect(running.items).toMatchObject([
      {
        metadata: { name: podName, namespace: "default" },
        spec: { containers: [{ name: "main" }] },
      },
    ]);
    expect(await ask("/healthz?verbose")).toMatchObject({ status: 200 });
    const health = await fetch(`http://127.0.0.1:${healthPort}/healthz`);
    expect(await health.text()).toBe("ok");
    const summary = JSON.parse((await ask("/stats/summary")).body);
    expect(summary).toMatchObject({
      node: { nodeName: "node-a" },
      pods: [{ podRef: { name: podName } }],
    });
    expect((await ask("/metrics")).body).toContain("kubelet_http_requests_total{");
    expect((await ask("/metrics/cadvisor")).body).toContain(`pod="${podName}"`);
    expect((await ask("/metrics/resource")).body).toContain("container_cpu_usage_seconds_total{");
    expect((await ask("/metrics/probes")).body).toContain("process_start_time_seconds");
    expect((await ask("/metrics/slis")).body).toContain('kubernetes_healthcheck{name="ping"');
    const { kubeletconfig } = JSON.parse((await ask("/configz")).body);
    expect(kubeletconfig).toMatchObject({ port, authorization: { mode: "AlwaysAllow" } });
  });

  test("shows logs as asked for, and goes on showing them", async () => {
    const logs = `/containerLogs/default/${podName}/main`;
    expect(await ask(`${logs}?tailLines=1`)).toEqual({ status: 200, body: "started\n" });
    expect(await ask(`${logs}?limitBytes=3`)).toEqual({ status: 200, body: "one" });
    expect(await ask(`/containerLogs/default/${podName}/nope`)).toEqual({
      status: 404,
      body: `container "nope" not found in pod "${podName}"`,
    });
    const followed = await open(`${logs}?follow=true`);
    let text = "";
    followed.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    await expect.poll(() => text).toContain("started\n");
    followed.destroy();
  });

  test("runs a command by SPDY: streams apart, exit code, input to its end", async () => {
    const path = `/exec/default/${podName}/main?input=1&output=1&error=1&command=sh&command=-c&command=${encodeURIComponent("cat | wc -c; echo err >&2; exit 7")}`;
    const terminal = captureTerminal();
    terminal.stdin.end(Buffer.alloc(300_000, "x"));
    const connect = () => upgrade(path, spdy(remoteCommandProtocol));
    const signal = AbortSignal.timeout(60_000);
    const code = await runRemoteCommand(connect, { stdin: true, tty: false }, terminal, signal);
    expect({ code, out: terminal.stdoutText().trim(), err: terminal.stderrText() }).toEqual({
      code: 7,
      out: "300000",
      err: "err\n",
    });
  });

  test("runs a command by WebSocket", async () => {
    const path = `/exec/default/${podName}/main?output=1&command=echo&command=hi`;
    const headers = webSocketHeaders(remoteCommandProtocol);
    const { connection, head } = await upgrade(path, headers, "GET");
    const bytes = Buffer.concat([head, ...(await connection.toArray())]);
    expect(bytes.toString("latin1")).toContain("\u0001hi\n");
    expect(bytes.toString("latin1")).toContain('"status":"Success"');
  });

  test("runs a command by the newest WebSocket protocol, which closes input by itself", async () => {
    const script = "cat | wc -c; echo err >&2; exit 7";
    const path = `/exec/default/${podName}/main?input=1&output=1&error=1&command=sh&command=-c&command=${encodeURIComponent(script)}`;
    const headers = webSocketHeaders("v5.channel.k8s.io");
    const { connection, head } = await upgrade(path, headers, "GET");
    const chunk = Buffer.concat([Buffer.from([0]), Buffer.alloc(100_000, "x")]);
    for (let count = 0; count < 3; count++) connection.write(clientFrame(2, chunk));
    connection.write(clientFrame(2, Buffer.from([255, 0])));
    const texts = ["", "", "", ""];
    for await (const { opcode, data } of serverFrames(connection, head)) {
      if (opcode === 8) break;
      const channel = data[0] ?? 0;
      texts[channel] = `${texts[channel]}${data.subarray(1).toString()}`;
    }
    connection.destroy();
    expect(texts.slice(1, 3)).toEqual(["300000\n", "err\n"]);
    expect(JSON.parse(texts[3] ?? "")).toMatchObject({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "7" }] },
    });
  });

  test("attaches to the container's own process", async () => {
    const path = `/attach/default/${podName}/main?input=1&output=1`;
    const { connection, head } = await upgrade(path, spdy(remoteCommandProtocol));
    using streams = new SpdyConnection(connection, head);
    let text = "";
    await streams.open({ streamType: "error" }, () => undefined);
    const input = await streams.open({ streamType: "stdin" }, () => undefined);
    await streams.open({ streamType: "stdout" }, (data) => {
      text += data.toString();
    });
    await input.write(Buffer.from("a line\n"));
    await expect.poll(() => text, { timeout: 60_000 }).toContain("got a line");
  });

  test("forwards a port", async () => {
    const { connection, head } = await upgrade(
      `/portForward/default/${podName}`,
      spdy("portforward.k8s.io"),
    );
    using streams = new SpdyConnection(connection, head);
    const named = { port: "8080", requestID: "0" };
    let text = "";
    await streams.open({ ...named, streamType: "error" }, () => undefined);
    const data = await streams.open({ ...named, streamType: "data" }, (chunk) => {
      text += chunk.toString();
    });
    await data.write(Buffer.from("GET / HTTP/1.0\r\n\r\n"));
    await expect.poll(() => text, { timeout: 60_000 }).toContain("hello from the pod");
  });

  test("forwards a port by SPDY within a WebSocket", async () => {
    const headers = webSocketHeaders("SPDY/3.1+portforward.k8s.io");
    const { connection, head } = await upgrade(`/portForward/default/${podName}`, headers, "GET");
    const inside = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _, done) => {
        connection.write(clientFrame(2, chunk));
        done();
      },
    });
    void (async () => {
      for await (const { opcode, data } of serverFrames(connection, head)) {
        if (opcode === 2) inside.push(data);
      }
    })().catch(() => undefined);
    using streams = new SpdyConnection(inside, Buffer.alloc(0));
    const named = { port: "8080", requestID: "0" };
    let text = "";
    await streams.open({ ...named, streamType: "error" }, () => undefined);
    const data = await streams.open({ ...named, streamType: "data" }, (chunk) => {
      text += chunk.toString();
    });
    await data.write(Buffer.from("GET / HTTP/1.0\r\n\r\n"));
    await expect.poll(() => text, { timeout: 60_000 }).toContain("hello from the pod");
    connection.destroy();
    const { body } = await ask("/metrics");
    for (const subresource of ["exec", "portforward"]) {
      const counted = `kubelet_websocket_streaming_requests_total{subresource="${subresource}"} 1\n`;
      expect(body).toContain(counted);
    }
    expect(body).toMatch(/^kubernetes_build_info\{.*git_version="v1\.36\./m);
  });

  test("runs a command to its end in one answer", async () => {
    const run = `/run/default/${podName}/main?cmd=`;
    expect(await ask(`${run}cat%20/www/index.html`, { method: "POST" })).toEqual({
      status: 200,
      body: "hello from the pod\n",
    });
    expect(await ask(`${run}ls%20/none`, { method: "POST" })).toMatchObject({
      status: 500,
      body: expect.stringContaining("command 'ls /none' exited with 1"),
    });
  });

  test("says that a runtime writes no checkpoints", async () => {
    expect(await ask(`/checkpoint/default/${podName}/main`, { method: "POST" })).toMatchObject({
      status: 500,
      body: expect.stringContaining(`checkpointing of default/${podName}/main failed`),
    });
  });

  test("abandoned streams leave nothing behind", async () => {
    const path = `/attach/default/${podName}/main?output=1`;
    for (let count = 0; count < 20; count++) {
      const { connection } = await upgrade(path, spdy(remoteCommandProtocol));
      connection.destroy();
    }
    const isStreaming = async (): Promise<boolean> => {
      const { body } = await ask("/metrics");
      return /^kubelet_http_inflight_requests\{.*path="attach".*\} [1-9]/m.test(body);
    };
    await expect.poll(isStreaming).toBe(false);
    expect((await ask("/healthz")).status).toBe(200);
  });
});
