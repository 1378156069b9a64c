import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import { shell } from "../integration/support/agent-manifests.ts";
import { isReady } from "../integration/support/agent-watch.ts";
import { MachineNode } from "./support/machine-node.ts";

const manager = ["org.freedesktop.login1", "/org/freedesktop/login1"];
const managerInterface = "org.freedesktop.login1.Manager";
/** Together more than logind waits by default. */
const periods = [
  { priority: 0, shutdownGracePeriodSeconds: 90 },
  { priority: 1000, shutdownGracePeriodSeconds: 60 },
];
const target = "poweroff.target";

describe("a shutdown by logind", () => {
  let node: MachineNode;

  beforeAll(async () => {
    node = await MachineNode.start({ shutdownGracePeriodByPodPriority: periods });
  });
  afterAll(async () => {
    execFileSync("systemctl", ["unmask", "--runtime", target]);
    await node.close();
  });
  beforeEach(() => {
    onTestFailed(() => console.error(node.agent.stderr));
  });

  function property(name: string): string {
    return bus("get-property", ...manager, managerInterface, name).trim();
  }

  /** The locks of the agent. */
  function locks(): number {
    const list = bus("--json=short", "call", ...manager, managerInterface, "ListInhibitors");
    const { data } = JSON.parse(list) as { readonly data: readonly (readonly unknown[][])[] };
    const [inhibitors = []] = data;
    return inhibitors.filter(
      ([what, who, , mode]) => what === "shutdown" && who === "kubelet" && mode === "delay",
    ).length;
  }

  test("is held up for as long as the pods may take", async () => {
    await expect.poll(() => property("InhibitDelayMaxUSec")).toBe("t 150000000");
    await expect.poll(locks).toBe(1);
  });

  test("waits until pods have ended, the least important first; one that fails leaves a node that goes on", async () => {
    const record = join(node.folder, "ends");
    writeFileSync(record, "");
    const volumes = [{ name: "record", hostPath: { path: record, type: "File" } }];
    const noting = (name: string): Partial<PodSpec> => {
      const end = `sleep 3; echo ${name} >>/record; exit 0`;
      const script = `trap '${end}' TERM; sleep 3600 & wait`;
      const volumeMounts = [{ name: "record", mountPath: "/record" }];
      return { containers: [shell("main", script, { volumeMounts })], volumes };
    };
    await node.run("important", { ...noting("important"), priority: 1000 });
    await node.run("plain", noting("plain"));
    bus("call", ...manager, managerInterface, "PowerOff", "b", "false");
    // logind starts this when the last lock is gone. A masked unit cannot be started, which ends this shutdown.
    execFileSync("systemctl", ["mask", "--runtime", target]);
    expect(property("PreparingForShutdown")).toBe("b true");
    const plain = await node.waitFor("plain", ({ status }) => status?.phase === "Failed");
    expect(plain.status?.reason).toBe("Terminated");
    await expect.poll(() => property("PreparingForShutdown")).toBe("b false");
    expect(readFileSync(record, "utf8")).toBe("plain\nimportant\n");
    await expect.poll(locks).toBe(1);
    await node.run("later");
    await node.waitFor("later", isReady);
  });
});

function bus(...args: readonly string[]): string {
  return execFileSync("busctl", args, { encoding: "utf8" });
}
