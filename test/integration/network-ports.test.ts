import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { splitRule } from "../../src/drivers/containerd/network-rules.ts";
import type { Container, PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { eventMessages, runInside, waitForEnd } from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const hostPort = 18_074;

/** Serves its name on port 80. */
function webServer(name: string, more: Partial<Container> = {}): Container {
  const script = `echo ${name} > /tmp/index.html; exec httpd -f -p 80 -h /tmp`;
  // A container that runs need not listen yet.
  const readinessProbe = { httpGet: { port: 80 }, periodSeconds: 1 };
  return shell("main", script, { readinessProbe, ...more });
}

// The web server ends on SIGTERM.
const webPod = (...containers: readonly Container[]): Partial<PodSpec> => ({
  containers,
  terminationGracePeriodSeconds: 1,
});

describe("the network of pods", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(74);
  });
  afterAll(() => world.close());

  const started = async (name: string, manifest: string): Promise<Pod> => {
    world.write(`${name}.json`, manifest);
    return waitForPod(world.client, world.podName(name), isReady);
  };
  const fetchText = async (url: string): Promise<string> => {
    const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
    return response.text();
  };

  describe("a host port", () => {
    const ports = [{ containerPort: 80, hostPort }];

    test("leads from the node's addresses to the pod, until the pod ends", async () => {
      const containers = [webServer("first", { ports })];
      const pod = await started("first", podManifest("first", webPod(...containers)));
      expect(await fetchText(`http://${pod.status?.hostIP}:${hostPort}/`)).toBe("first\n");
      expect(await fetchText(`http://127.0.0.1:${hostPort}/`)).toBe("first\n");
    });

    test("is refused to a second pod while the first has it", async () => {
      world.write(
        "second.json",
        podManifest("second", { containers: [webServer("second", { ports })] }),
      );
      expect((await waitForEnd(world, "second")).status).toMatchObject({
        phase: "Failed",
        reason: "NodePorts",
        message:
          "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
      });
      expect((await world.berth("get", "pods")).stdout).toMatch(/^second-node .*NodePorts/m);
      world.remove("second.json");
    });

    test("is free again when the pod is gone", async () => {
      const query = { fieldSelector: `metadata.name=${world.podName("first")}` };
      const { items } = await world.client.listPods(undefined, query, AbortSignal.timeout(60_000));
      expect(items).toHaveLength(1);
      world.remove("first.json");
      await waitUntilGone(world.client, items[0]?.metadata.uid ?? "");
      await expect(fetchText(`http://127.0.0.1:${hostPort}/`)).rejects.toThrow("fetch failed");
      const containers = [webServer("third", { ports })];
      const pod = await started("third", podManifest("third", webPod(...containers)));
      expect(await fetchText(`http://${pod.status?.hostIP}:${hostPort}/`)).toBe("third\n");
    });
  });

  describe("after a restart of the agent", () => {
    test("a running pod keeps its host port from one that came later and is read earlier", async () => {
      await world.agent.stop("SIGKILL");
      const containers = [webServer("a-rival", { ports: [{ containerPort: 80, hostPort }] })];
      world.write("a-rival.json", podManifest("a-rival", webPod(...containers)));
      await world.up();
      const { status } = await waitForEnd(world, "a-rival");
      expect(status).toMatchObject({ phase: "Failed", reason: "NodePorts" });
      expect(await fetchText(`http://127.0.0.1:${hostPort}/`)).toBe("third\n");
      world.remove("a-rival.json");
    });
  });

  describe("what listens on the node's loopback only", () => {
    let server: Server;
    let port: number;
    let served = 0;
    beforeAll(async () => {
      server = createServer((_, response) => {
        served++;
        response.end("secret");
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      port = (server.address() as AddressInfo).port;
    });
    afterAll(() => server.close());

    /** Packets that rules for loopback addresses have dropped: this network's, or those of an agent of another test. */
    const dropped = (): number => {
      const rules = execFileSync("iptables", ["-w", "-vnxL"], { encoding: "utf8" });
      const guards = rules.split("\n").filter((line) => /DROP.*\s127\.0\.0\.0\/8/.test(line));
      return guards.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[0]), 0);
    };

    test("is out of a pod's reach, even of one that sends loopback addresses over the bridge", async () => {
      const gateway = "10.98.74.1";
      // A host port makes the kernel route loopback addresses on the bridge.
      const ports = [{ containerPort: 80, hostPort: hostPort + 1 }];
      const containers = [
        shell("main", untilStopped, { securityContext: { privileged: true }, ports }),
      ];
      const pod = await started("spy", podManifest("spy", { containers }));
      const setUp = [
        "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet",
        "ip addr del 127.0.0.1/8 dev lo",
        `ip route add 127.0.0.1/32 via ${gateway} dev eth0`,
      ];
      expect(await runInside(world, pod, ["sh", "-c", setUp.join(" && ")])).toBe("");
      const read = (address: string): Promise<string> => {
        const script = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${address} ${port}`;
        return runInside(world, pod, ["sh", "-c", script]);
      };
      const before = dropped();
      expect(await read("127.0.0.1")).toContain("timed out");
      expect(dropped()).toBeGreaterThan(before);
      expect(await read(gateway)).toContain("refused");
      expect(served).toBe(0);
    });
  });

  test("a rule that was removed is restored within a minute", async () => {
    const guard = (): readonly string[] => {
      const rules = execFileSync("iptables", ["-w", "-S", "INPUT"], { encoding: "utf8" });
      return rules.split("\n").filter((line) => line.includes(` -i ${world.bridge} `));
    };
    const before = guard();
    expect(before).toHaveLength(1);
    execFileSync("iptables", ["-w", "-D", ...splitRule(before[0] ?? "").slice(1)]);
    expect(guard()).toEqual([]);
    await expect.poll(guard, { timeout: 120_000 }).toEqual(before);
  });

  describe("bandwidth annotations", () => {
    const annotated = (name: string, limits: Record<string, string>): string => {
      const pod = JSON.parse(podManifest(name, webPod(webServer(name))));
      return JSON.stringify({ ...pod, metadata: { ...pod.metadata, annotations: limits } });
    };
    const shapers = (): readonly string[] =>
      readdirSync("/sys/class/net").filter((link) => link.startsWith("bwp"));
    const rates = (): readonly string[] => {
      const qdiscs = execFileSync("tc", ["qdisc", "show"], { encoding: "utf8" });
      return qdiscs.split("\n").filter((line) => line.includes(" tbf "));
    };

    test("limit what the pod receives and sends, until it ends", async () => {
      const before = shapers();
      const pod = await started(
        "limited",
        annotated("limited", {
          "kubernetes.io/ingress-bandwidth": "7M",
          "kubernetes.io/egress-bandwidth": "3M",
        }),
      );
      expect(rates()).toContainEqual(expect.stringMatching(/dev veth\w+ .*rate 7Mbit/));
      expect(rates()).toContainEqual(expect.stringMatching(/dev bwp\w+ .*rate 3Mbit/));
      expect(await fetchText(`http://${pod.status?.podIP}/`)).toBe("limited\n");
      world.remove("limited.json");
      await waitUntilGone(world.client, pod.metadata.uid);
      expect(shapers()).toEqual(before);
    });

    test.each([
      ["small", "10", "resource is unreasonably small (< 1kbit)"],
      ["large", "2P", "resource is unreasonably large (> 1Pbit)"],
      ["wordy", "fast", "quantities must match the regular expression"],
    ])(
      "that are not rates (%s) keep the pod from starting, and are reported",
      async (name, rate, problem) => {
        const key = "kubernetes.io/ingress-bandwidth";
        world.write(`${name}.json`, annotated(name, { [key]: rate }));
        const isPending = ({ status }: Pod): boolean => status?.phase === "Pending";
        const pod = await waitForPod(world.client, world.podName(name), isPending);
        await expect
          .poll(() => eventMessages(world, pod, "FailedCreatePodSandBox"))
          .toContainEqual(
            expect.stringContaining(
              `Failed to create pod sandbox: metadata.annotations[${key}]: ${problem}`,
            ),
          );
        world.remove(`${name}.json`);
      },
    );

    test("leave no interface behind when everything is removed at once", async () => {
      const before = shapers();
      const limits = { "kubernetes.io/egress-bandwidth": "3M" };
      await started("stays", annotated("stays", limits));
      expect(shapers()).toHaveLength(before.length + 1);
      await world.agent.stop("SIGKILL");
      const down = await world.berth("down");
      expect(down.code).toBe(0);
      expect(shapers()).toEqual(before);
    });
  });
});
