import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SecretNode, secrets, specTexts } from "./support/secret-node.ts";

let node: SecretNode;

beforeAll(async () => {
  node = await SecretNode.start(150);
});
afterAll(() => node.close());

const waiting = (name: string): string | undefined =>
  node.pod(name)?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
const isRunning = (name: string): boolean =>
  node.pod(name)?.status?.containerStatuses?.[0]?.state?.running !== undefined;
const events = (): string => JSON.stringify(node.api.memory.list("/api/v1/events"));

// An unused secret could not leak.
test("every secret is used", async () => {
  for (const name of ["uses", "private", "provided"]) {
    await expect.poll(() => isRunning(name), { message: `${name} runs` }).toBe(true);
  }
  const inside = ["sh", "-c", "cat /file/password /token/token; echo $PASSWORD"];
  const { stdout } = await node.berth("exec", "uses", "--", ...inside);
  const { secretFile, accountToken, secretVariable } = secrets;
  expect(stdout).toBe(`${secretFile}${accountToken}${secretVariable}\n`);
  expect(node.manifestHeaders).toContain(secrets.manifestHeader);
  expect(node.api.callers).toContain(`Bearer ${secrets.kubeconfigToken}`);
  for (const name of ["refused", "broken"]) {
    await expect.poll(() => waiting(name)).toMatch(/ErrImagePull|ImagePullBackOff/);
  }
  for (const reason of ["FailedPostStartHook", "Unhealthy"]) {
    await expect.poll(() => events().includes(reason), { message: reason }).toBe(true);
  }
  await expect.poll(() => waiting("missing")).toMatch(/RunContainerError|CrashLoopBackOff/);
});

/** Every secret, as it is and as base64 carries it, that a text shows. */
function shown(text: string, texts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(texts)
    .filter(([, secret]) => [secret, ...base64Forms(secret)].some((form) => text.includes(form)))
    .map(([name]) => name);
}

/** Without what depends on the bytes before and behind. */
function base64Forms(secret: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.from(`${"x".repeat(offset)}${secret}`).toString("base64");
    return encoded.slice(offset === 0 ? 0 : 4, -4);
  });
}

test("no answer of the kubelet's API shows a secret", async () => {
  const paths = [
    "/configz",
    "/flagz",
    "/statusz",
    "/healthz?verbose",
    "/stats/summary",
    "/metrics",
    "/metrics/cadvisor",
    "/metrics/resource",
    "/metrics/probes",
    "/metrics/slis",
    "/runningpods/",
    "/debug/pprof/heap?seconds=0.2",
    "/debug/pprof/profile?seconds=0.2",
    "/containerLogs/default/missing/main",
    "/exec/default/missing/main?command=id",
    "/portForward/default/missing",
    "/checkpoint/default/uses/main",
  ];
  const all = { ...secrets, ...specTexts };
  for (const path of paths) {
    const post = path.startsWith("/checkpoint") ? "POST" : "GET";
    const answer = await node.ask(path, secrets.callerToken, post);
    expect([path, shown(answer, all)]).toEqual([path, []]);
  }
  const refused = await node.ask("/pods", secrets.unknownCaller);
  expect(refused).toMatch(/^401 /);
  expect(shown(refused, all)).toEqual([]);
});

test("pods show what stands in their specs, and no secret", async () => {
  const answers = [
    await node.ask("/pods"),
    await node.askReadOnly("/pods"),
    (await node.berth("get", "pods", "-o", "json")).stdout,
  ];
  for (const answer of answers) {
    expect(answer.includes(specTexts.variable)).toBe(true);
    expect(shown(answer, secrets)).toEqual([]);
  }
  const { stdout } = await node.berth("describe", "pod", "uses");
  expect(stdout).toContain("SHOWN");
  expect(shown(stdout, secrets)).toEqual([]);
});

test("neither statuses nor events nor the node show a secret to the API server", () => {
  const { memory } = node.api;
  const statuses = memory.list("/api/v1/pods").map(({ status }) => status);
  const reported = [statuses, memory.list("/api/v1/events"), memory.list("/api/v1/nodes")];
  const text = JSON.stringify(reported);
  expect(text.includes("FailedPostStartHook")).toBe(true);
  expect(shown(text, { ...secrets, ...specTexts })).toEqual([]);
});

test("neither explanations nor recordings show a secret", async () => {
  const names = ["uses", "missing", "hooked", "private", "refused", "broken", "provided"];
  for (const name of names) {
    for (const args of [[name], [name, "-o", "json"]]) {
      const { stdout, code } = await node.berth("why", ...args);
      expect(code).toBe(0);
      expect([name, shown(stdout, secrets)]).toEqual([name, []]);
    }
  }
  const { stdout } = await node.berth("why", "--recording");
  expect(stdout.includes('"uses"')).toBe(true);
  expect(shown(stdout, { ...secrets, ...specTexts })).toEqual([]);
});

test("no file shows a secret but those of volumes", () => {
  const files = readdirSync(node.rootDir, { recursive: true, encoding: "utf8" })
    .filter((path) => !/^pods\/[^/]+\/volumes\//.test(path))
    .map((path) => join(node.rootDir, path))
    .filter((path) => statSync(path).isFile());
  expect(files.length).toBeGreaterThan(5);
  const leaks = files.map((path) => [
    path,
    shown(readFileSync(path, "latin1"), { ...secrets, ...specTexts }),
  ]);
  expect(leaks.filter(([, found]) => found?.length !== 0)).toEqual([]);
});

test("neither the log at its most verbose nor the traces show a secret", async () => {
  const { stdout, stderr } = await node.agent.stop("SIGTERM");
  for (const part of ['"level":"debug"', "default/missing", "default/broken"]) {
    expect([part, stderr.includes(part)]).toEqual([part, true]);
  }
  expect(shown(stdout + stderr, { ...secrets, ...specTexts })).toEqual([]);
  const traces = Buffer.concat(node.collector.received).toString("latin1");
  expect(traces.includes("syncPod")).toBe(true);
  expect(shown(traces, { ...secrets, ...specTexts })).toEqual([]);
});
