import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 95;
const podName = "web-node-k";

describe("berth kubelet without a cluster", () => {
  let world: RuntimeWorld;
  let folder: string;
  let rootDir: string;
  let client: AgentClient;
  let agent: BerthProcess | undefined;

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("kubelet");
    rootDir = join(folder, "root");
    client = new AgentClient(join(rootDir, "berth.sock"));
    for (const name of ["manifests", "drop-ins"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "resolv.conf"), "nameserver 10.1.2.3\nsearch example.org\n");
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    writeFileSync(join(folder, "drop-ins/10-dns.conf"), dropIn({ clusterDNS: ["10.9.8.7"] }));
    writeFileSync(join(folder, "drop-ins/notes.txt"), "no drop-in");
  });

  afterAll(async () => {
    if (agent?.isRunning === true) await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
    await world.close();
    await removeFolder(folder);
  });

  /** Paths are relative to the file; the machine of the tests may have any version of cgroups. */
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
      "clusterDomain: cluster.test",
      "clusterDNS: [10.0.0.10]",
      "maxPods: 1",
      "maxOpenFiles: 12345",
      "volumePluginDir: /flex",
      "runtimeRequestTimeout: 90s",
      "logging: {format: json}",
      `kubeletCgroups: ${world.cgroupRoot}/agent`,
      "noSuchField: 1",
      "evictionHard: {}",
      "enableServer: false",
      "healthzPort: 0",
      // Others test the packet filter of this machine meanwhile.
      "makeIPTablesUtilChains: false",
    ].join("\n");
  }

  function dropIn(fields: object): string {
    const head = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
    return JSON.stringify({ ...head, ...fields });
  }

  function flags(): string[] {
    return [
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--config-dir=${join(folder, "drop-ins")}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=Node-K",
      "--cluster_domain=flag.test",
      "--node-labels=example.com/kind=test",
    ];
  }

  async function startAgent(): Promise<BerthProcess> {
    const started = new BerthProcess(flags());
    agent = started;
    await started.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
    return started;
  }

  async function containerId(): Promise<string | undefined> {
    const { items } = await client.listPods(undefined, {}, AbortSignal.timeout(60_000));
    const pod = items.find(({ metadata }) => metadata.name === podName);
    return pod?.status?.containerStatuses?.[0]?.containerID;
  }

  test("runs the first document of a static pod by the configuration of file, drop-ins and flags", async () => {
    const started = await startAgent();
    const web = podManifest("web", {
      containers: [shell("main", untilStopped)],
      nodeSelector: { "example.com/kind": "test" },
    });
    // A field that does not exist is let pass, as a kubelet does.
    const misspelled = web.replace('"spec":{', '"spec":{"hostnetwork":true,');
    writeFileSync(
      join(folder, "manifests/web.yaml"),
      `---\n${misspelled}\n---\n${podManifest("second")}\n`,
    );
    const pod = await waitForPod(client, podName, isReady);
    expect(pod.spec.nodeName).toBe("node-k");
    const listed = await new BerthProcess(["get", "pods", "--data-dir", rootDir]).ended;
    expect(listed.stdout).toContain(podName);
    expect(listed.stdout).not.toContain("second");
    const resolver = ["exec", "web", "--data-dir", rootDir, "--", "cat", "/etc/resolv.conf"];
    const { stdout } = await new BerthProcess(resolver).ended;
    expect(stdout).toContain("nameserver 10.9.8.7");
    expect(stdout).toContain("search default.svc.flag.test svc.flag.test flag.test example.org");
    expect(readdirSync(join(folder, "logs"))).toEqual([`default_${podName}_${pod.metadata.uid}`]);
    expect(existsSync(join(rootDir, "pods", pod.metadata.uid))).toBe(true);
    const links = readdirSync("/var/log/containers").filter((name) => name.startsWith(podName));
    expect(links).toHaveLength(1);
    expect(started.stderr).toContain('unknown field \\"noSuchField\\"');
    expect(started.stderr).toContain("unknown field spec.hostnetwork: did you mean hostNetwork?");
    expect(started.stderr).toContain("volumePluginDir");
    expect(started.stderr).toContain("notes.txt");
  });

  test("has the cgroup, the limit of open files and the log that are configured", async () => {
    const started = agent;
    if (started === undefined) throw new Error("there is no agent");
    const file = (name: string) => readFileSync(`/proc/${started.pid}/${name}`, "utf8");
    expect(file("limits")).toMatch(/^Max open files +12345 +12345 /m);
    expect(file("cgroup")).toContain(`:${world.cgroupRoot}/agent\n`);
    const lines = started.stderr.split("\n").filter((line) => line.startsWith("{"));
    const up = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "the agent is up");
    expect(up).toEqual({ ts: expect.any(Number), level: "info", msg: up?.msg, v: 0, rootDir });
  });

  test("takes no more pods than maxPods", async () => {
    writeFileSync(join(folder, "manifests/more.json"), podManifest("more"));
    const more = await waitForPod(
      client,
      "more-node-k",
      ({ status }) => status?.phase === "Failed",
    );
    expect(more.status?.message).toContain("pods");
    expect(more.status?.containerStatuses ?? []).toEqual([]);
    rmSync(join(folder, "manifests/more.json"));
    await waitUntilGone(client, more.metadata.uid);
  });

  test("takes its pods over after a restart, and ends those whose files are gone", async () => {
    const before = await containerId();
    await agent?.stop("SIGKILL");
    await startAgent();
    const pod = await waitForPod(client, podName, isReady);
    expect(await containerId()).toBe(before);
    rmSync(join(folder, "manifests/web.yaml"));
    await waitUntilGone(client, pod.metadata.uid);
    const left = await world.runtime.listContainers({}, AbortSignal.timeout(60_000));
    expect(left).toEqual([]);
  });

  test("gives way to another process that wants its lock file", async () => {
    await agent?.stop("SIGTERM");
    const lock = join(folder, "kubelet.lock");
    const holder = new BerthProcess([
      ...flags(),
      `--lock-file=${lock}`,
      "--exit-on-lock-contention",
    ]);
    agent = holder;
    await holder.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
    const other = execFile("flock", [lock, "true"]);
    const { code } = await holder.ended;
    expect(code).toBe(0);
    if (other.exitCode === null) await once(other, "exit");
    expect(other.exitCode).toBe(0);
  });

  test("berth down does not touch a kubelet's root folder", async () => {
    const down = await new BerthProcess(["down", "--data-dir", rootDir]).ended;
    expect(down.code).toBe(1);
    expect(down.stderr).toContain("is the root folder of a kubelet");
  });

  test.each([
    [["--exit-on-lock-contention"], 1, "no lock file specified"],
    [["--enable-server"], 1, "no client provided, cannot use webhook authentication"],
    [["--max-pods=-1"], 1, "maxPods (--max-pods) -1 must not be a negative number"],
    [["--hostname-override= "], 1, "empty hostname is invalid"],
    [["--bogus"], 2, "unknown flag: --bogus"],
  ])("does not start with %s", async (more, code, message) => {
    const ended = await new BerthProcess([...flags(), ...more]).ended;
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(message);
  });
});
