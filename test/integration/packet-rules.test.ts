import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { kubeletPacketRules, upPacketRules } from "../../src/core/network/packet-rules.ts";
import { iptablesFilter } from "../../src/drivers/linux/iptables.ts";
import { PacketRules } from "../../src/engine/node/packet-rules.ts";
import type { FilterItem } from "../../src/model/packet-filter.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import { NetworkNamespace } from "./support/network-namespace.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const never = new AbortController().signal;
const firewall = [
  "-A INPUT -j KUBE-FIREWALL",
  "-A OUTPUT -j KUBE-FIREWALL",
  '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
];

describe("packet filter rules", () => {
  let network: NetworkNamespace;
  let folder: string;
  let lines: string[];
  let wake: () => void;
  let asleep: Promise<void>;
  let fallAsleep: () => void;
  beforeEach(async () => {
    lines = [];
    asleep = new Promise((resolve) => {
      fallAsleep = resolve;
    });
    network = await NetworkNamespace.start();
    folder = makeTestFolder("rules");
  });
  afterEach(async () => {
    await network.close();
    await removeFolder(folder);
  });

  const note = (message: string, fields: object = {}): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note };
  // A minute passes when the test says so.
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    startTimer: () => ({ stop: () => undefined }),
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        wake = resolve;
        fallAsleep();
        if (signal.aborted) reject(new Error("aborted"));
        signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      }),
  };
  const keep = (rules: readonly FilterItem[]): PacketRules => {
    const filter = iptablesFilter(network.iptablesIn(folder));
    return new PacketRules({ filter, rules, clock, log });
  };
  const added = (table: string): readonly string[] =>
    network.rules(table).filter((line) => line.startsWith("-A "));

  test("are those of a kubelet, and are made once", async () => {
    const rules = keep(kubeletPacketRules);
    await rules.ensure(never);
    const expectMade = (): void => {
      expect(added("filter")).toEqual(firewall);
      expect(network.rules("filter")).toContain("-N KUBE-FIREWALL");
      expect(network.rules("mangle")).toContain("-N KUBE-IPTABLES-HINT");
      expect(network.rules("mangle", "ip6tables")).toContain("-N KUBE-IPTABLES-HINT");
      expect(network.rules("filter", "ip6tables")).not.toContain("-N KUBE-FIREWALL");
    };
    expectMade();
    expect(lines).toEqual([
      'made packet filter rules {"family":"IPv4","in":["filter KUBE-FIREWALL","filter KUBE-FIREWALL","filter OUTPUT","filter INPUT","mangle KUBE-IPTABLES-HINT"]}',
      'made packet filter rules {"family":"IPv6","in":["mangle KUBE-IPTABLES-HINT"]}',
    ]);
    await rules.ensure(never);
    await keep(kubeletPacketRules).ensure(never);
    expectMade();
    expect(lines).toHaveLength(2);
  });

  test("that a kubelet or a kube-proxy made are not made twice", async () => {
    network.run("iptables", "-w", "-N", "KUBE-FIREWALL");
    for (const chain of ["OUTPUT", "INPUT"]) {
      network.run("iptables", "-w", "-I", chain, "-j", "KUBE-FIREWALL");
    }
    // In the order of words that upstream has.
    const comment = ["-m", "comment", "--comment", "block incoming localnet connections"];
    const addresses = ["--dst", "127.0.0.0/8", "!", "--src", "127.0.0.0/8"];
    const isNew = ["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"];
    const words = [...comment, ...addresses, ...isNew, "-j", "DROP"];
    network.run("iptables", "-w", "-A", "KUBE-FIREWALL", ...words);
    await keep(kubeletPacketRules).ensure(never);
    expect(added("filter")).toEqual(firewall);
  });

  test.each([
    ["rules are flushed", [["-F"]]],
    ["chains are removed", [["-F"], ["-X"], ["-t", "mangle", "-X"]]],
    ["one jump is removed", [["-D", "INPUT", "-j", "KUBE-FIREWALL"]]],
  ])("come back within a minute when %s", async (_name, attack) => {
    const stop = new AbortController();
    const running = keep(kubeletPacketRules).run(stop.signal);
    await asleep;
    for (const words of attack) network.run("iptables", "-w", ...words);
    expect(added("filter")).not.toEqual(firewall);
    wake();
    await expect.poll(() => added("filter").toSorted()).toEqual(firewall.toSorted());
    await expect.poll(() => network.rules("mangle")).toContain("-N KUBE-IPTABLES-HINT");
    await expect.poll(() => lines.join("\n")).toContain("restored packet filter rules");
    stop.abort();
    await running;
  });

  test("of berth up are marked by data folder, and removed without a trace", async () => {
    const before = network.rules("filter");
    const filter = iptablesFilter(network.iptablesIn(folder));
    await keep(upPacketRules("one")).ensure(never);
    await keep(upPacketRules("two")).ensure(never);
    expect(added("filter")).toHaveLength(2);
    for (const rule of upPacketRules("one")) await filter.remove(rule, never);
    expect(added("filter")).toEqual([expect.stringContaining('"berth up two"')]);
    for (const rule of upPacketRules("two")) await filter.remove(rule, never);
    expect(network.rules("filter")).toEqual(before);
  });

  test("are missing without iptables, which is logged once", async () => {
    const filter = iptablesFilter(undefined);
    const rules = new PacketRules({ filter, rules: kubeletPacketRules, clock, log });
    await rules.ensure(never);
    await rules.ensure(never);
    expect(lines).toEqual([
      'cannot make packet filter rules, continuing without them {"family":"IPv4","error":"iptables is not installed"}',
      'cannot make packet filter rules, continuing without them {"family":"IPv6","error":"iptables is not installed"}',
    ]);
  });

  test("that the kernel refuses keep no others from being made", async () => {
    const rule = { kind: "rule", family: "IPv4", table: "filter", chain: "INPUT" } as const;
    const impossible = { ...rule, position: "first", words: ["-j", "NO-SUCH-CHAIN"] } as const;
    await keep([impossible, ...kubeletPacketRules]).ensure(never);
    expect(added("filter")).toEqual(firewall);
    expect(lines.join("\n")).toMatch(/continuing without them .*NO-SUCH-CHAIN/);
  });
});
