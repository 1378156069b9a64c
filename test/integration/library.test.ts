import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { removeDataDir } from "../../src/app/remove-data-dir.ts";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../src/drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { createNodeBy } from "../../src/library/create-node.ts";
import type { BerthNode, Decision, NodeOptions, PodManifest } from "../../src/library/node.ts";
import { busyboxImage } from "../../tools/images/busybox-image.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { findLeftovers } from "./support/leftovers.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const parts = join(import.meta.dirname, "../../dist/parts");
const program = join(parts, "node-program.js");
const bridge = "berth-l1";
const network = { bridge, subnet: "10.98.231.0/24", cgroupRoot: `/${bridge}` };

let folder: string;
beforeAll(() => {
  buildProgram();
  folder = makeTestFolder("library");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(options: NodeOptions): Promise<BerthNode> {
  return createNodeBy(program, options);
}

function pod(name: string, command: string, more: object = {}): PodManifest {
  const container = { name: "main", image: "busybox:1.36", command: ["sh", "-c", command] };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container], ...more };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

function simulated(name: string, script: string): PodManifest {
  const plain = pod(name, "");
  const annotations = { "sim.berth.dev/main": script };
  return {
    ...plain,
    metadata: { name, annotations },
    spec: { ...plain.spec, restartPolicy: "Never" },
  };
}

describe("a simulated node", () => {
  let node: BerthNode;
  beforeAll(async () => {
    node = await start({ kind: "simulated", nodeName: "n1", speed: 20 });
  });
  afterAll(() => node.stop());

  test("runs pods from objects, text and files, and says how they end", async () => {
    const path = join(folder, "job.yaml");
    writeFileSync(path, JSON.stringify(simulated("from-file", "run 1s, exit 0")));
    const text = JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [simulated("from-text", "run 1s, exit 3"), pod("stays", "")],
    });
    const pods = await node.apply([{ path }, text, simulated("from-object", "exit 0")]);
    expect(pods.map(({ name }) => name)).toEqual([
      "from-file",
      "from-text",
      "stays",
      "from-object",
    ]);
    const [file, failing, stays] = pods;
    await stays?.waitFor("ready");
    expect((await file?.waitFor("succeeded"))?.status?.phase).toBe("Succeeded");
    expect((await failing?.waitFor("failed"))?.status?.phase).toBe("Failed");
    expect(await failing?.logs()).toContain("run 1: run 1s, exit 3\n");
  });

  test("time passes as fast as was asked for", async () => {
    const startMs = performance.now();
    const [slow] = await node.apply(simulated("slow", "run 60s, exit 0"));
    await slow?.waitFor("succeeded");
    expect(performance.now() - startMs).toBeLessThan(30_000);
  });

  test("a wait that cannot come true says why at once", async () => {
    const [failing] = await node.apply(simulated("failing", "run 1s, exit 3"));
    await failing?.waitFor("failed");
    await expect(failing?.waitFor("ready")).rejects.toMatchObject({
      name: "PodWaitError",
      code: "wait-failed",
      message: expect.stringMatching(
        /pod default\/failing-n1 cannot become ready any more: Error.*main exited with code 3/,
      ),
      explanation: { pod: { metadata: { name: "failing-n1" } } },
    });
  });

  test("a wait that takes too long says what the pod waits for", async () => {
    const waits = simulated("waits", "run");
    const annotations = { ...waits.metadata.annotations, "sim.berth.dev/main.pull": "take 1h" };
    const containers = [{ name: "main", image: "slow.test/large:1" }];
    const [pulling] = await node.apply({
      ...waits,
      metadata: { ...waits.metadata, annotations },
      spec: { ...waits.spec, containers },
    });
    await pulling?.waitFor(({ status }) =>
      Boolean(status?.containerStatuses?.[0]?.state?.waiting?.message?.startsWith("Pulling")),
    );
    await expect(pulling?.waitFor("ready", { timeoutMs: 1 })).rejects.toThrow(
      /did not become ready within 0.001s: .*it waits for: container main: Pulling image "slow\.test/,
    );
  });

  test("an aborted wait rejects with the signal's reason", async () => {
    const reason = new Error("changed my mind");
    const wait = node.pod("never").waitFor("ready", { signal: AbortSignal.abort(reason) });
    await expect(wait).rejects.toBe(reason);
  });

  test("decisions come as they are made, with their reasons", async () => {
    const decisions = await node.watchDecisions();
    await node.apply(simulated("decided", "run 1s, exit 0"));
    const seen: Decision[] = [];
    for await (const decision of decisions) {
      if (!decision.pod.startsWith("default/decided")) continue;
      seen.push(decision);
      if (decision.steps.some(({ action }) => action === "start container main")) break;
    }
    expect(seen.at(-1)?.steps.map(({ because }) => because)).toContain("no sandbox exists");
  });

  test("logs are followed to the end of the container", async () => {
    const [talks] = await node.apply(simulated("talks", "run 10s, exit 0"));
    await talks?.waitFor(({ status }) => status?.phase !== "Pending");
    const lines: string[] = [];
    for await (const line of talks?.followLogs() ?? []) lines.push(line);
    expect(lines).toEqual(["run 1: run 10s, exit 0", "ends with exit code 0 (Completed)"]);
  });

  test("a manifest that is wrong is refused by line and field, and leaves what was there", async () => {
    const before = await node.apply(simulated("keeps", "run"));
    const broken =
      "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: [{imag: a}]}";
    await expect(node.apply([simulated("other", "run"), broken])).rejects.toMatchObject({
      code: "invalid-manifest",
      message: expect.stringContaining("manifest 2: line 4"),
    });
    await expect(node.apply(simulated("keeps", "jump"))).rejects.toMatchObject({
      code: "invalid-manifest",
      message: expect.stringContaining('"jump" is not understood'),
    });
    const names = (await node.pods()).map(({ metadata }) => metadata.name);
    expect(names).not.toContain("other-n1");
    await expect(before[0]?.waitFor("ready")).resolves.toBeDefined();
  });

  test("deleted pods are gone, and only they", async () => {
    const names = ["first", "second", "first-n1"];
    const objects = names.map((name) => simulated(name, "run"));
    const [first, second, alike] = await node.apply(objects);
    await first?.delete();
    await expect(first?.read()).rejects.toMatchObject({ code: "not-found" });
    expect((await alike?.read())?.metadata.name).toBe("first-n1-n1");
    expect((await second?.read())?.metadata.name).toBe("second-n1");
    await node.delete(objects);
    await expect(second?.read()).rejects.toMatchObject({ code: "not-found" });
  });

  test("what only real containers can do is refused by name", async () => {
    const refusal = { code: "unsupported", message: expect.stringContaining('kind "real"') };
    await expect(node.pod("web").exec(["ls"])).rejects.toMatchObject(refusal);
    await expect(node.pod("web").forwardPort(80)).rejects.toMatchObject(refusal);
  });

  test("several run beside each other, and leave nothing", async () => {
    const nodes = await Promise.all(
      ["a", "b"].map((nodeName) => start({ kind: "simulated", nodeName })),
    );
    await Promise.all(nodes.map((one) => one.apply(simulated("same", "run"))));
    const names = await Promise.all(nodes.map((one) => one.pods()));
    expect(names.map(([only]) => only?.metadata.name)).toEqual(["same-a", "same-b"]);
    await Promise.all(nodes.map((one) => one.stop()));
    expect(nodes.filter(({ dataDir }) => existsSync(dataDir))).toEqual([]);
    await expect(nodes[0]?.pods()).rejects.toMatchObject({ code: "node-ended" });
  });
});

test("options that make no sense are refused by name", async () => {
  await expect(start({ kind: "simulated", speed: 0 })).rejects.toThrow("speed: 0 is not a speed");
  await expect(start({ kind: "real", subnet: "10.0.0.0/40", bridge })).rejects.toMatchObject({
    code: "start-failed",
    message: expect.stringContaining("--subnet"),
  });
});

describe("a real node", () => {
  let node: BerthNode;
  beforeAll(async () => {
    node = await start({ kind: "real", nodeName: "n1", ...network });
    await importImages(node.dataDir);
  });
  afterAll(() => node.stop());

  test("runs containers, whose output and exit code are read", async () => {
    const [job] = await node.apply(
      pod("job", "echo out; echo bad >&2; exit 3", { restartPolicy: "Never" }),
    );
    await expect(job?.waitFor("succeeded")).rejects.toThrow("main exited with code 3 (Error)");
    expect((await job?.logs())?.split("\n").toSorted()).toEqual(["", "bad", "out"]);
  });

  test("runs commands in containers", async () => {
    const [shell] = await node.apply(pod("shell", "sleep 3600"));
    await shell?.waitFor("ready");
    const done = await shell?.exec(["sh", "-c", "cat; echo bad >&2; exit 7"], { stdin: "given" });
    expect(done).toEqual({ exitCode: 7, stdout: "given", stderr: "bad\n" });
    await expect(shell?.exec(["ls"], { container: "none" })).rejects.toMatchObject({
      code: "not-found",
    });
  });

  test("forwards ports that only the pod itself can reach", async () => {
    const serve = "mkdir /w; echo page > /w/index.html; httpd -f -p 127.0.0.1:8080 -h /w";
    const probe = { exec: { command: ["wget", "-qO-", "http://127.0.0.1:8080/"] } };
    const web = pod("web", serve);
    const containers = web.spec.containers.map((each) => ({
      ...each,
      readinessProbe: { ...probe, periodSeconds: 1 },
    }));
    const [served] = await node.apply({ ...web, spec: { ...web.spec, containers } });
    await served?.waitFor("ready");
    const forward = await served?.forwardPort(8080);
    const get = async () => (await fetch(`http://${forward?.address}/`)).text();
    expect(await Promise.all([get(), get(), get()])).toEqual(["page\n", "page\n", "page\n"]);
    await forward?.close();
    await expect(get()).rejects.toThrow("fetch failed");
    const problems: string[] = [];
    const onError = (error: Error): void => void problems.push(error.message);
    const closed = await served?.forwardPort(9999, { onError });
    await expect(fetch(`http://${closed?.address}/`)).rejects.toThrow("fetch failed");
    await vi.waitFor(() => expect(problems.join()).toContain("connection refused"), 30_000);
    await closed?.close();
  });

  test("leaves nothing when it is stopped", async () => {
    await node.stop();
    expect(leftOf(node.dataDir)).toEqual([]);
  });
});

test("a temporary node is removed when its program is killed", async () => {
  const script = [
    `import { createNode } from ${JSON.stringify(join(parts, "library.js"))};`,
    `const node = await createNode(${JSON.stringify({ kind: "real", nodeName: "n2", ...network })});`,
    "console.log(node.dataDir);",
    "setInterval(() => undefined, 1000);",
  ].join("\n");
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const dataDir = String((await lines.next()).value);
    expect(existsSync(join(dataDir, "berth.sock"))).toBe(true);
    child.kill("SIGKILL");
    await ended;
    await vi.waitFor(() => expect(leftOf(dataDir)).toEqual([]), 60_000);
  } finally {
    child.kill("SIGKILL");
  }
});

test("pods of a data folder outlive the node, and the next one takes them over", async () => {
  const dataDir = join(folder, "kept");
  mkdirSync(dataDir);
  const options = { kind: "real", nodeName: "n3", dataDir, ...network } as const;
  const first = await start(options);
  try {
    await importImages(dataDir);
    const [web] = await first.apply(pod("web", "sleep 3600"));
    const before = await web?.waitFor("ready");
    await first.stop();
    const second = await start(options);
    const after = await second.pod("web").waitFor("ready");
    const idOf = (shown: typeof before) => shown?.status?.containerStatuses?.[0]?.containerID;
    expect(idOf(after)).toBe(idOf(before));
    await second.stop();
  } finally {
    // Also where the second one still runs: it is ended then.
    await first.stop({ remove: true });
  }
  expect(leftOf(dataDir)).toEqual([]);
});

test("what a killed agent leaves of a temporary node is removed by its stop", async () => {
  const node = await start({ kind: "real", nodeName: "n4", ...network });
  try {
    const pid = Number(readFileSync(join(node.dataDir, "agent.pid"), "utf8"));
    process.kill(pid, "SIGKILL");
    expect(await node.ended).toContain("ended by SIGKILL");
  } finally {
    await node.stop();
  }
  expect(leftOf(node.dataDir)).toEqual([]);
});

test("a temporary node that has a volume still mounted keeps it, and says what to do", async () => {
  const node = await start({ kind: "real", nodeName: "n5", ...network });
  // Of a pod that nothing is known of any more.
  const volume = join(node.dataDir, "kubelet/pods/gone/volumes/kubernetes.io~csi/data/mount");
  const kept = join(volume, "kept");
  mkdirSync(volume, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", volume]);
  try {
    writeFileSync(kept, "data");
    await expect(removeDataDir(node.dataDir)).rejects.toThrow(`mounted there: ${volume}`);
    const why = new RegExp(`volumes are still mounted.*${volume}.*berth down --data-dir`);
    await expect(node.stop({ remove: true })).rejects.toThrow(why);
    expect(readFileSync(kept, "utf8")).toBe("data");
  } finally {
    execFileSync("umount", [volume]);
    await new BerthProcess(["down", "--data-dir", node.dataDir]).ended;
  }
  expect(leftOf(node.dataDir)).toEqual([]);
});

async function importImages(dataDir: string): Promise<void> {
  const socket = join(dataDir, "containerd/containerd.sock");
  const runtime = createCriRuntime(`unix://${socket}`);
  try {
    const target = { images: runtime, ctr: readMachine().tools.ctr ?? "ctr", socket };
    await ensureImages(target, [busyboxImage("1.36")], AbortSignal.timeout(60_000));
  } finally {
    runtime.close();
  }
}

function leftOf(dataDir: string): readonly string[] {
  const files = existsSync(dataDir) ? readdirSync(dataDir) : [];
  return [...files, ...findLeftovers({ ...MANAGED_CONTAINERD_DEFAULTS, dataDir, bridge })];
}
