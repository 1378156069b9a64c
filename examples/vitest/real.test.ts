// A service in a real pod, tested from outside: by HTTP over a forwarded port, by its log, by commands inside.
import { type BerthNode, createNode, type NodePod, type PodManifest } from "berth";
import { afterAll, beforeAll, expect, test } from "vitest";

const page = "Hello from a pod";
const serve = `mkdir /www && echo '${page}' > /www/index.html && echo serving && httpd -f -p 8080 -h /www`;

const manifest: PodManifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: "busybox:1.36",
        command: ["sh", "-c", serve],
        readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
      },
    ],
  },
};

let node: BerthNode;
let web: NodePod;
beforeAll(async () => {
  const runtimeEndpoint = process.env["CRI_ENDPOINT"];
  node = await createNode({ kind: "real", ...(runtimeEndpoint && { runtimeEndpoint }) });
  await node.apply(manifest);
  web = node.pod("web");
  // Says what it waits for when this takes too long.
  await web.waitFor("ready", { timeoutMs: 120_000 });
}, 180_000);
afterAll(() => node.stop(), 60_000);

test("serves its page", async () => {
  const forward = await web.forwardPort(8080);
  try {
    const response = await fetch(`http://${forward.address}/`);
    expect((await response.text()).trim()).toBe(page);
  } finally {
    await forward.close();
  }
});

test("writes a log, and has the file that it serves", async () => {
  expect(await web.logs()).toBe("serving\n");
  const { exitCode, stdout } = await web.exec(["cat", "/www/index.html"]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${page}\n` });
});

test("a job that fails says why", async () => {
  const [job] = await node.apply({
    ...manifest,
    metadata: { name: "job" },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "busybox:1.36", command: ["sh", "-c", "exit 3"] }],
    },
  });
  await expect(job?.waitFor("succeeded")).rejects.toThrow("container main exited with code 3");
  await job?.delete();
});
