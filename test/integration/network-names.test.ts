import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { eventMessages, printedInside, runInside, waitForEnd } from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("the namespaces and names of a pod", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(73);
  });
  afterAll(() => world.close());

  /** Which of its namespaces the pod's process shares with the node. */
  const shared = async (pod: Pod): Promise<readonly string[]> => {
    const kinds = ["ipc", "net", "pid", "uts"];
    const script = `for kind in ${kinds.join(" ")}; do readlink /proc/self/ns/$kind; done`;
    const inside = (await runInside(world, pod, ["sh", "-c", script])).trim().split("\n");
    return kinds.filter((kind, index) => inside[index] === readlinkSync(`/proc/self/ns/${kind}`));
  };
  const started = async (name: string, spec: Parameters<typeof podManifest>[1]): Promise<Pod> => {
    world.write(`${name}.json`, podManifest(name, spec));
    return waitForPod(world.client, world.podName(name), isReady);
  };

  test("a pod has namespaces of its own, and those of the node that it asks for", async () => {
    expect(await shared(await started("own", {}))).toEqual([]);
    const node = await started("node", { hostNetwork: true, hostPID: true, hostIPC: true });
    expect(await shared(node)).toEqual(["ipc", "net", "pid", "uts"]);
    expect(node.status?.podIP).toBe(node.status?.hostIP);
    expect((await runInside(world, node, ["hostname"])).trim()).toBe(hostname());
  });

  test("containers of a pod see each other's processes only where they share them", async () => {
    const containers = [shell("main", untilStopped), shell("other", "exec sleep 4242")];
    const apart = await started("apart", { containers });
    expect(await runInside(world, apart, ["ps"])).not.toContain("sleep 4242");
    const together = await started("together", { containers, shareProcessNamespace: true });
    const processes = await runInside(world, together, ["ps"]);
    expect(processes).toContain("sleep 4242");
    expect(processes).toContain("/pause");
  });

  test("host name, subdomain and aliases are the pod's", async () => {
    const script = "hostname; hostname -f; cat /etc/hosts";
    const plain = await printedInside(world, "plain", script);
    expect(plain).toMatch(/^plain-node\n/);
    const named = await printedInside(world, "named", script, {
      spec: {
        hostname: "web",
        subdomain: "front",
        hostAliases: [{ ip: "10.1.2.3", hostnames: ["db", "db.local"] }],
      },
    });
    expect(named).toMatch(/^web\n/);
    expect(named).toMatch(/^10\.98\.73\.\d+\tweb\.front\.default\.svc\S*\tweb$/m);
    expect(named).toMatch(/^# Entries added by HostAliases\.\n10\.1\.2\.3\tdb\tdb\.local$/m);
  });

  test("a pod on the node's network has the node's hosts, and its aliases", async () => {
    const spec = {
      hostNetwork: true,
      hostAliases: [{ ip: "10.1.2.3", hostnames: ["db"] }],
    };
    const hosts = await printedInside(world, "node-hosts", "cat /etc/hosts", { spec });
    expect(hosts).toMatch(/^# Kubernetes-managed hosts file \(host network\)\.\n/);
    expect(hosts).toContain(readFileSync("/etc/hosts", "utf8"));
    expect(hosts).toContain("10.1.2.3\tdb\n");
  });

  test("the kernel's host name is the full name where the pod asks for it", async () => {
    const spec = { hostname: "web", subdomain: "front", setHostnameAsFQDN: true };
    const printed = await printedInside(world, "fqdn", "hostname", { spec });
    expect(printed).toMatch(/^web\.front\.default\.svc/);
  });

  test("a full name that the kernel cannot hold is reported", async () => {
    const subdomain = "s".repeat(60);
    const spec = { hostname: "web", subdomain, setHostnameAsFQDN: true };
    world.write("long.json", podManifest("long", spec));
    const name = world.podName("long");
    const pod = await waitForPod(world.client, name, ({ status }) => status?.phase === "Pending");
    await expect
      .poll(() => eventMessages(world, pod, "FailedCreatePodSandBox"))
      .toContainEqual(
        expect.stringMatching(
          /FQDN web\.s+\.default\.svc.* is too long \(64 characters is the max/,
        ),
      );
    world.remove("long.json");
  });

  test("resolv.conf is the node's, or the pod's own, cut to what resolvers take", async () => {
    const servers = (text: string): readonly string[] => text.match(/^nameserver .*$/gm) ?? [];
    const nodes = servers(readFileSync("/etc/resolv.conf", "utf8")).slice(0, 3);
    for (const dnsPolicy of ["Default", "ClusterFirst", "ClusterFirstWithHostNet"]) {
      const name = dnsPolicy.toLowerCase();
      const printed = await printedInside(world, name, "cat /etc/resolv.conf", {
        spec: { dnsPolicy },
      });
      expect(servers(printed)).toEqual(nodes);
    }
    const own = await printedInside(world, "own-dns", "cat /etc/resolv.conf", {
      spec: {
        dnsPolicy: "None",
        dnsConfig: {
          nameservers: ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
          searches: ["a.example", "b.example"],
          options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
        },
      },
    });
    expect(own.trim().split("\n")).toEqual([
      "search a.example b.example",
      "nameserver 10.0.0.1",
      "nameserver 10.0.0.2",
      "nameserver 10.0.0.3",
      "options ndots:2 edns0",
    ]);
  });

  test("what does not fit into resolv.conf is left out, and reported", async () => {
    const nameservers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    const pod = await started("many-servers", { dnsPolicy: "Default", dnsConfig: { nameservers } });
    const resolver = await runInside(world, pod, ["cat", "/etc/resolv.conf"]);
    expect(resolver.match(/^nameserver /gm)).toHaveLength(3);
    expect(await eventMessages(world, pod, "DNSConfigForming")).toContainEqual(
      expect.stringMatching(
        /^Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: /,
      ),
    );
    world.remove("many-servers.json");
  });

  test("more servers and search paths than resolvers take are refused with the manifest", async () => {
    const dnsConfig = { nameservers: ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] };
    world.write("refused.json", podManifest("refused", { dnsPolicy: "None", dnsConfig }));
    await expect
      .poll(async () => (await world.client.listProblems(AbortSignal.timeout(60_000))).problems)
      .toContainEqual(
        expect.objectContaining({
          message: expect.stringContaining("must not have more than 3 nameservers"),
          field: "spec.dnsConfig.nameservers",
        }),
      );
    world.remove("refused.json");
  });

  test("a pod for another system is refused", async () => {
    world.write("windows.json", podManifest("windows", { os: { name: "windows" } }));
    expect((await waitForEnd(world, "windows")).status).toMatchObject({
      phase: "Failed",
      reason: "PodOSNotSupported",
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
  });
});
