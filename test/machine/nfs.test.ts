import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { MachineNode } from "./support/machine-node.ts";

const server = "127.0.0.1";
const exported = "/srv/nfs";
const port = "2049";
/** What the server is sent gets lost, as when its machine is gone. */
const dropped = ["-p", "tcp", "--dport", port, "-j", "DROP"];

describe("volumes of a kernel's NFS server", () => {
  let node: MachineNode;

  beforeAll(async () => {
    startServer();
    node = await MachineNode.start();
  });
  afterAll(async () => {
    await node?.close();
    run("rpc.nfsd", "0");
    run("exportfs", "-ua");
  });
  beforeEach(() => {
    onTestFailed(() => console.error(node.agent.stderr));
  });

  function uses(script: string, path = "/"): Partial<PodSpec> {
    const volumeMounts = [{ name: "nfs", mountPath: "/nfs" }];
    return {
      containers: [shell("main", script, { volumeMounts })],
      volumes: [{ name: "nfs", nfs: { server, path } }],
    };
  }

  test("are written to and read, and are gone with the pod", async () => {
    const pod = await node.run("writer", uses(`echo written >/nfs/file; ${untilStopped}`));
    await expect
      .poll(
        () => existsSync(join(exported, "file")) && readFileSync(join(exported, "file"), "utf8"),
      )
      .toBe("written\n");
    await node.remove("writer", pod.metadata.uid);
    expect(nfsMounts()).toEqual([]);
  });

  test("of a server that does not answer delay their own pods alone, also when these go", async () => {
    const holder = await node.run("holder", uses(untilStopped));
    run("iptables", "-I", "INPUT", ...dropped);
    try {
      node.write("waiter", uses(untilStopped));
      const waiter = await node.waitFor("waiter", ({ status }) => status?.phase === "Pending");
      const other = await node.run("other");
      const stats = await node.client.readStats(AbortSignal.timeout(60_000));
      expect(stats.pods.map(({ podRef }) => podRef.uid)).toContain(other.metadata.uid);
      await node.remove("other", other.metadata.uid);
      await node.remove("waiter", waiter.metadata.uid);
      await node.remove("holder", holder.metadata.uid);
      expect(nfsMounts()).toEqual([]);
    } finally {
      run("iptables", "-D", "INPUT", ...dropped);
    }
  });

  test("are mounted again when the server is back", async () => {
    const pod = await node.run("reader", uses(untilStopped));
    expect(await node.printedBy(pod, ["cat", "/nfs/file"])).toBe("written\n");
    await node.remove("reader", pod.metadata.uid);
  });
});

/** Version 4 alone: it needs no other service of the machine. */
function startServer(): void {
  mkdirSync(exported, { recursive: true });
  run("modprobe", "nfsd");
  if (!existsSync("/proc/fs/nfsd/threads")) run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd");
  // There are no clients of a server before this one: a short time to wait for them is enough.
  writeFileSync("/proc/fs/nfsd/nfsv4leasetime", "10\n");
  writeFileSync("/proc/fs/nfsd/nfsv4gracetime", "10\n");
  run(
    "exportfs",
    "-o",
    "rw,insecure,no_root_squash,no_subtree_check,fsid=0",
    `${server}:${exported}`,
  );
  run("rpc.mountd", "--no-nfs-version", "3", "--manage-gids");
  run("rpc.nfsd", "--no-nfs-version", "3", "--host", server, "2");
}

function nfsMounts(): readonly string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter((line) => / nfs4? /.test(line));
}

function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { stdio: "inherit" });
}
