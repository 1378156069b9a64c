// CVE-2020-8558: with route_localnet a neighbour on the network reaches what listens on the node's loopback only.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildProgram, ownDevicePlugins } from "../integration/support/agent-process.ts";
import { NetworkNamespace } from "../integration/support/network-namespace.ts";
import { removeFolder } from "../integration/support/remove-folder.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const program = join(import.meta.dirname, "../../dist/berth.js");
const port = 10_248;
const serverScript = `
  const server = require("node:http").createServer((_, response) => response.end("secret"));
  server.listen(${port}, "127.0.0.1", () => console.log("ready"));`;
const attackScript = `
  const socket = require("node:net").connect({ host: "127.0.0.1", port: ${port}, localAddress: "10.77.0.2" });
  socket.setTimeout(2000, () => { console.log("nothing"); socket.destroy(); });
  socket.on("error", (error) => console.log(error.code));
  socket.on("data", (data) => { console.log(String(data)); socket.destroy(); });
  socket.write("GET / HTTP/1.0\\r\\n\\r\\n");`;

describe("a neighbour that sends packets to the node's loopback address", () => {
  let node: NetworkNamespace;
  let neighbour: NetworkNamespace;
  let folder: string;
  let server: ChildProcess;

  beforeAll(async () => {
    buildProgram();
    folder = makeTestFolder("loopback");
    node = await NetworkNamespace.start();
    neighbour = await NetworkNamespace.start();
    node.connect(neighbour, "10.77.0.1", "10.77.0.2");
    // As kube-proxy, or a CNI plugin for host ports, leaves a node.
    node.set("ipv4/conf/all/route_localnet", "1");
    neighbour.set("ipv4/conf/all/route_localnet", "1");
    neighbour.run("ip", "address", "del", "127.0.0.1/8", "dev", "lo");
    neighbour.run("ip", "route", "add", "127.0.0.1/32", "via", "10.77.0.1", "dev", "veth0");
    server = runInside(process.execPath, "-e", serverScript);
    await once(server.stdout ?? server, "data");
  });

  afterAll(async () => {
    server.kill("SIGKILL");
    await node.close();
    await neighbour.close();
    await removeFolder(folder);
  });

  function runInside(...command: readonly string[]): ChildProcess {
    const [entrance, ...args] = node.enter;
    const all = [...args, "setpriv", "--pdeathsig", "KILL", "--", ...command];
    const env = { ...process.env, ...ownDevicePlugins(command) };
    return spawn(entrance, all, { stdio: ["ignore", "pipe", "pipe"], env });
  }

  const attack = (): string => neighbour.run(process.execPath, "-e", attackScript).trim();

  /** An agent in a kubelet's place that waits for its runtime. */
  function startAgent(): ChildProcess {
    mkdirSync(join(folder, "manifests"), { recursive: true });
    const fields = {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: join(folder, "manifests"),
      podLogsDir: join(folder, "logs"),
      containerRuntimeEndpoint: `unix://${folder}/no-runtime.sock`,
      enableServer: false,
      healthzPort: 0,
      failSwapOn: false,
      failCgroupV1: false,
    };
    writeFileSync(join(folder, "kubelet.json"), JSON.stringify(fields));
    const flags = [
      `--config=${join(folder, "kubelet.json")}`,
      `--root-dir=${join(folder, "root")}`,
    ];
    return runInside(process.execPath, program, "kubelet", ...flags);
  }

  test("reaches the health port of an unprotected node", () => {
    expect(attack()).toContain("secret");
  });

  test("gets no answer from a node of Berth, also after the agent has ended", async () => {
    const agent = startAgent();
    const ended = once(agent, "exit");
    const jump = "-A INPUT -j KUBE-FIREWALL";
    await expect.poll(() => node.rules("filter"), { timeout: 20_000 }).toContain(jump);
    expect(attack()).toBe("nothing");
    agent.kill("SIGTERM");
    await ended;
    expect(attack()).toBe("nothing");
    // What the node itself asks of its loopback is answered.
    const ask = `fetch("http://127.0.0.1:${port}/").then((response) => response.text()).then(console.log)`;
    expect(node.run(process.execPath, "-e", ask).trim()).toBe("secret");
    expect(node.run("iptables", "-w", "-vnxL", "KUBE-FIREWALL")).toMatch(/^ *[1-9]\d* +\d+ DROP/m);
  });
});
