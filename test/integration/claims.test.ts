import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { eventually } from "../cluster/support/eventually.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { claimed, claimManifest, volumeManifest } from "./support/claim-manifests.ts";
import { loopDevicesOf } from "./support/loop-devices.ts";

const deviceBytes = 8 * 2 ** 20;

describe("claims without a cluster", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await AgentWorld.start(41);
  });
  afterEach(() => world.close());

  const ready = (name: string): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReady);

  /** A pod that mounts a claim at /data. */
  const writePod = (name: string, claimName: string, spec: Partial<PodSpec> = {}): void => {
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const containers = [shell("main", untilStopped, { volumeMounts })];
    const volumes = [claimed("data", claimName)];
    world.write(`${name}.json`, podManifest(name, { containers, volumes, ...spec }));
  };

  const inside = async (name: string, script: string): Promise<string> => {
    const result = await world.berth("exec", name, "-c", "main", "--", "sh", "-c", script);
    return `${result.stdout}${result.stderr}`.trim();
  };

  /** What `berth why` prints of a pod, as soon as it has this text. */
  const why = async (name: string, text: string): Promise<void> => {
    const ask = async (): Promise<string> => (await world.berth("why", name)).stdout;
    await expect.poll(ask, { timeout: 60_000, interval: 500 }).toContain(text);
  };

  const phaseOf = async (name: string): Promise<string | undefined> => {
    const signal = AbortSignal.timeout(60_000);
    return (await world.client.readPod("default", world.podName(name), signal)).status?.phase;
  };

  test("data outlives its pod, a killed agent and berth down, until --volumes removes it", async () => {
    const folder = join(world.dataDir, "volumes/default_data");
    world.write("claim.json", claimManifest("data"));
    writePod("writer", "data", { securityContext: { runAsUser: 1000, fsGroup: 2000 } });
    const writer = await ready("writer");
    expect(await inside("writer", "echo precious > /data/file; stat -c %g /data")).toBe("2000");
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("precious\n");
    expect(statSync(join(world.dataDir, "volumes")).mode & 0o777).toBe(0o700);

    world.remove("writer.json");
    await waitUntilGone(world.client, writer.metadata.uid);
    expect(await world.tracesLeft([writer.metadata.uid])).toEqual([]);
    writePod("reader", "data");
    const reader = await ready("reader");
    const ids = await world.containerIds(reader.metadata.uid);
    expect(await inside("reader", "cat /data/file")).toBe("precious");

    await world.agent.stop("SIGKILL");
    await world.up();
    await ready("reader");
    expect(await inside("reader", "echo kept >> /data/file; cat /data/file")).toBe(
      "precious\nkept",
    );
    expect(await world.containerIds(reader.metadata.uid)).toEqual(ids);

    expect((await world.berth("down")).code).toBe(0);
    expect(readdirSync(world.dataDir)).toEqual(["volumes"]);
    await world.up();
    await world.importImages();
    await ready("reader");
    expect(await inside("reader", "cat /data/file")).toBe("precious\nkept");

    expect((await world.berth("down", "--volumes")).code).toBe(0);
    expect(existsSync(world.dataDir)).toBe(false);
  });

  test("a pod waits, with the reason, for a claim that is not there or cannot be served, and starts when it can", async () => {
    const problems = {
      unknown: 'failed to fetch PVC from the manifests: persistentvolumeclaims "unknown" not found',
      block: "PVC is not bound: spec.volumeMode: a folder of this node is not a block device",
      static: "PVC is not bound: spec.storageClassName: an empty class asks for a volume that",
      shared: "PVC is not bound: spec.accessModes: ReadWriteMany is not among the access modes",
    };
    const shared = join(world.folder, "shared");
    mkdirSync(shared);
    world.write("block.yaml", claimManifest("block", { volumeMode: "Block" }));
    world.write("static.yaml", claimManifest("static", { storageClassName: "" }));
    world.write("volume.yaml", volumeManifest("shared", { local: { path: shared } }));
    const accessModes = ["ReadWriteMany"];
    world.write("shared.yaml", claimManifest("shared", { accessModes, volumeName: "shared" }));
    for (const name of Object.keys(problems)) writePod(name, name);
    for (const [name, message] of Object.entries(problems)) {
      await why(name, `error processing PVC default/${name}: ${message}`);
      // Before the first attempt has failed, only what is awaited is known.
      await why(name, "unmounted volumes=[data]");
      expect(await phaseOf(name)).toBe("Pending");
    }
    expect(world.agent.stderr).toContain("default/static: an empty class asks for a volume");

    world.write("unknown.yaml", claimManifest("unknown"));
    world.write("block.yaml", claimManifest("block"));
    world.write("static.yaml", claimManifest("static"));
    world.write("shared.yaml", claimManifest("shared", { volumeName: "shared" }));
    for (const name of Object.keys(problems)) await ready(name);
    expect(await inside("shared", "echo here > /data/file")).toBe("");
    expect(readFileSync(join(shared, "file"), "utf8")).toBe("here\n");
  });

  test("a pod whose claim is removed goes on, restarts included, and the claim finds its data when it comes back", async () => {
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const script =
      "date +%s%N >> /data/starts; until [ -e /data/fail ]; do sleep 0.1; done; rm /data/fail; exit 1";
    world.write("claim.json", claimManifest("data"));
    writePod("web", "data", { containers: [shell("main", script, { volumeMounts })] });
    const web = await ready("web");
    world.remove("claim.json");
    await inside("web", "touch /data/fail");
    await waitForPod(
      world.client,
      world.podName("web"),
      (pod) => restartsOf(pod) === 1 && isReady(pod),
    );
    expect(await inside("web", "wc -l < /data/starts")).toBe("2");

    world.remove("web.json");
    await waitUntilGone(world.client, web.metadata.uid);
    writePod("other", "data");
    await why("other", 'persistentvolumeclaims "data" not found');
    world.write("claim.json", claimManifest("data"));
    await ready("other");
    expect(await inside("other", "wc -l < /data/starts")).toBe("2");
  });

  test("an ephemeral volume has what its claim template asks for, and goes with its pod", async () => {
    const volumeMounts = [{ name: "scratch", mountPath: "/scratch", subPath: "part" }];
    const containers = [shell("main", untilStopped, { volumeMounts })];
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
    const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec } } }];
    const securityContext = { runAsUser: 1000, fsGroup: 2000 };
    const text = podManifest("web", { containers, volumes, securityContext });
    world.write("web.json", text);
    const web = await ready("web");
    expect(await inside("web", "echo here > /scratch/file; stat -c %g /scratch")).toBe("2000");
    world.remove("web.json");
    await waitUntilGone(world.client, web.metadata.uid);
    expect(await world.tracesLeft([web.metadata.uid])).toEqual([]);
    world.write("web.json", text);
    await ready("web");
    expect(await inside("web", "ls /scratch")).toBe("");
  });

  test("a local volume is mounted where its node affinity allows it, and the reason is shown where it does not", async () => {
    const path = join(world.folder, "disk");
    mkdirSync(path);
    writeFileSync(join(path, "file"), "of the node");
    const volume = (name: string, ...values: readonly string[]): void => {
      const key = "kubernetes.io/hostname";
      const terms = [{ matchExpressions: [{ key, operator: "In", values }] }];
      const nodeAffinity = { required: { nodeSelectorTerms: terms } };
      const claimRef = { namespace: "default", name };
      const spec = { local: { path }, storageClassName: "local", nodeAffinity, claimRef };
      world.write(`volume-${name}.json`, volumeManifest(name, spec));
      world.write(`claim-${name}.json`, claimManifest(name, { storageClassName: "local" }));
    };
    volume("here", "node");
    volume("elsewhere", "another");
    writePod("here", "here");
    writePod("elsewhere", "elsewhere");
    await ready("here");
    expect(await inside("here", "cat /data/file")).toBe("of the node");
    await why("elsewhere", "no matching NodeSelectorTerms");
    expect(await phaseOf("elsewhere")).toBe("Pending");
    volume("elsewhere", "another", "node");
    await ready("elsewhere");
  });

  test("a local volume may be a raw device, of which the size is known", async () => {
    const image = join(world.folder, "image");
    writeFileSync(image, "");
    truncateSync(image, deviceBytes);
    const device = execFileSync("losetup", ["--find", "--show", image], {
      encoding: "utf8",
    }).trim();
    const volumeMode = "Block";
    const resources = { requests: { storage: String(deviceBytes) } };
    const spec = { local: { path: device }, capacity: resources.requests, volumeMode };
    world.write("volume.json", volumeManifest("disk", spec));
    world.write("claim.json", claimManifest("disk", { volumeName: "disk", volumeMode, resources }));
    const volumeDevices = [{ name: "data", devicePath: "/dev/raw" }];
    writePod("web", "disk", { containers: [shell("main", untilStopped, { volumeDevices })] });
    const { metadata } = await ready("web");
    expect(await inside("web", "echo raw > /dev/raw; sync; head -c 3 /dev/raw")).toBe("raw");
    await eventually(
      async () => {
        const { pods } = await world.client.readStats(AbortSignal.timeout(60_000));
        return pods.find(({ podRef }) => podRef.uid === metadata.uid)?.volumeStats ?? [];
      },
      ([stats]) => stats?.capacityBytes === deviceBytes && stats.pvcRef?.name === "disk",
    );
    world.remove("web.json");
    await waitUntilGone(world.client, metadata.uid);
    expect(await world.tracesLeft([metadata.uid])).toEqual([]);
    writePod("web", "disk", { containers: [shell("main", untilStopped, { volumeDevices })] });
    await ready("web");
    expect((await world.berth("down")).code).toBe(0);
    // What held the device for the pods is gone, too: nothing but this test has it.
    execFileSync("losetup", ["--detach", device]);
    await eventually(
      async () => loopDevicesOf(world.folder),
      (left) => left.length === 0,
    );
  });
});
