import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type { Volume, VolumeMount } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady } from "../integration/support/agent-watch.ts";
import { MachineNode } from "./support/machine-node.ts";

const usersPerPod = 65_536;

describe("what containerd 2 and runc 1.3 have", () => {
  let node: MachineNode;

  beforeAll(async () => {
    node = await MachineNode.start();
  });
  afterAll(() => node?.close());
  beforeEach(() => {
    onTestFailed(() => console.error(node.agent.stderr));
  });

  function runWith(name: string, volume: Volume, mount: VolumeMount): Promise<Pod> {
    return node.run(name, {
      containers: [shell("main", untilStopped, { volumeMounts: [mount] })],
      volumes: [volume],
    });
  }

  test("changes are learned from the events of the CRI", async () => {
    await expect.poll(async () => (await node.readInfo()).observer).toBe("cri");
  });

  test("pods with users of their own have different ones, write to volumes as root, and end", async () => {
    const spec = {
      hostUsers: false,
      containers: [
        shell("main", untilStopped, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
      ],
      volumes: [{ name: "data", emptyDir: {} }],
    };
    const first = await node.run("users-1", spec);
    const second = await node.run("users-2", spec);
    const users = [await firstUser(first), await firstUser(second)];
    expect(new Set(users).size).toBe(2);
    for (const user of users) expect(user % usersPerPod).toBe(0);
    expect(Math.min(...users)).toBeGreaterThanOrEqual(usersPerPod);
    const script = "echo written >/data/file && stat -c %u:%g /data/file";
    expect(await node.printedBy(first, ["sh", "-c", script])).toBe("0:0\n");
    const folder = join(node.folder, "root/pods", first.metadata.uid);
    const file = join(folder, "volumes/kubernetes.io~empty-dir/data/file");
    expect(readFileSync(file, "utf8")).toBe("written\n");
    await node.agent.stop("SIGKILL");
    await node.startAgent();
    const again = await node.waitFor("users-1", isReady);
    expect(again.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(await firstUser(again)).toBe(users[0]);
    await node.remove("users-1", first.metadata.uid);
    await node.remove("users-2", second.metadata.uid);
  });

  /** The user of the machine that is root in the pod's container. */
  async function firstUser(pod: Pod): Promise<number> {
    const map = await node.printedBy(pod, ["cat", "/proc/self/uid_map"]);
    const [inside, outside, count] = map.trim().split(/\s+/).map(Number);
    expect([inside, count]).toEqual([0, usersPerPod]);
    return outside ?? 0;
  }

  test("an image is a volume that cannot be written to", async () => {
    const image = { reference: "busybox:latest", pullPolicy: "IfNotPresent" };
    const whole = await runWith(
      "image",
      { name: "image", image },
      { name: "image", mountPath: "/image" },
    );
    const script = "cat /image/etc/passwd | head -n 1; touch /image/file 2>&1";
    expect(await node.printedBy(whole, ["sh", "-c", script])).toMatch(
      /^root:x:0:0:.*\ntouch: \/image\/file: Read-only file system\n$/,
    );
    await node.remove("image", whole.metadata.uid);
  });

  test("a mount is read-only with all mounts below it where a pod asks for it", async () => {
    const folder = join(node.folder, "outer");
    const inner = join(folder, "inner");
    mkdirSync(inner, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "none", inner]);
    try {
      const volume: Volume = { name: "outer", hostPath: { path: folder } };
      const mount = { name: "outer", mountPath: "/outer", readOnly: true };
      const plain = await runWith("plain", volume, mount);
      const script = "touch /outer/file /outer/inner/file 2>&1; ls /outer/inner";
      expect(await node.printedBy(plain, ["sh", "-c", script])).toBe(
        "touch: /outer/file: Read-only file system\nfile\n",
      );
      execFileSync("rm", [join(inner, "file")]);
      const whole = await runWith("whole", volume, { ...mount, recursiveReadOnly: "Enabled" });
      expect(await node.printedBy(whole, ["sh", "-c", script])).toBe(
        "touch: /outer/file: Read-only file system\ntouch: /outer/inner/file: Read-only file system\n",
      );
      const [seen] = whole.status?.containerStatuses?.[0]?.volumeMounts ?? [];
      expect(seen).toMatchObject({ readOnly: true, recursiveReadOnly: "Enabled" });
      await node.remove("plain", plain.metadata.uid);
      await node.remove("whole", whole.metadata.uid);
    } finally {
      execFileSync("umount", ["--lazy", inner]);
    }
  });

  test("groups of the image's user are left out where a pod wants its own alone", async () => {
    const groupsOf = async (supplementalGroupsPolicy: string): Promise<string> => {
      const name = `groups-${supplementalGroupsPolicy.toLowerCase()}`;
      const securityContext = { runAsUser: 1000, runAsGroup: 1000, supplementalGroupsPolicy };
      const pod = await node.run(name, { securityContext });
      const groups = (await node.printedBy(pod, ["id", "-G"])).trim();
      await node.remove(name, pod.metadata.uid);
      return groups;
    };
    expect(await groupsOf("Merge")).toBe("1000 2000");
    expect(await groupsOf("Strict")).toBe("1000");
  });
});
