import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

describe("kubectl against a node", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
    const serve = `mkdir /www; echo served > /www/index.html; httpd -p 8080 -h /www; ${untilStopped}`;
    await createPod(world.api, "target", { spec: { containers: [shell("main", serve)] } });
    await untilPod(world.api, "target", isReady);
  });

  afterAll(() => world.close());

  test("logs -f shows what was printed and what is printed from then on, to the end", async () => {
    const script = "for n in 1 2 3 4; do echo line $n; sleep 1; done";
    await createPod(world.api, "talker", {
      spec: { restartPolicy: "Never", containers: [shell("main", script)] },
    });
    await untilPod(world.api, "talker", ({ status }) => status?.phase === "Running");
    const following = world.kubectl.start("logs", "-f", "talker");
    await following.untilPrinted((text) => text.includes("line 1\n"));
    const { stdout, code } = await following.ended;
    expect(code).toBe(0);
    expect(stdout).toBe("line 1\nline 2\nline 3\nline 4\n");
    expect(await world.kubectl.run("logs", "talker", "--tail=2")).toBe("line 3\nline 4\n");
    const stamped = await world.kubectl.run("logs", "talker", "--timestamps", "--tail=1");
    expect(stamped).toMatch(/^\d{4}-\d\d-\d\dT\S+Z line 4\n$/);
  });

  test("logs --previous shows the container before", async () => {
    const script = "echo run; [ -e /data/again ] || { touch /data/again; exit 1; }; sleep 3600";
    const mounts = [{ name: "data", mountPath: "/data" }];
    await createPod(world.api, "again", {
      spec: {
        containers: [shell("main", script, { volumeMounts: mounts })],
        volumes: [{ name: "data", emptyDir: {} }],
        terminationGracePeriodSeconds: 0,
      },
    });
    await untilPod(
      world.api,
      "again",
      ({ status }) =>
        status?.containerStatuses?.[0]?.restartCount === 1 &&
        status.containerStatuses[0].state?.running !== undefined,
    );
    expect(await world.kubectl.run("logs", "--previous", "again")).toBe("run\n");
  });

  test("exec gives input, output, errors and the exit code", async () => {
    const script = ["sh", "-c", "cat; echo oops >&2; exit 7"];
    const command = world.kubectl.start("exec", "-i", "target", "--", ...script);
    command.write("from outside\n");
    command.endInput();
    const { code, stdout, stderr } = await command.ended;
    expect(stdout).toBe("from outside\n");
    expect(stderr).toContain("oops\n");
    expect(code).toBe(7);
  });

  test("exec -it is a terminal", async () => {
    const terminal = world.kubectl.startOnTerminal("exec", "-it", "target", "--", "sh");
    await terminal.untilPrinted((text) => text.includes("# "));
    terminal.write("tty; echo $((6*7))\n");
    await terminal.untilPrinted((text) => text.includes("/dev/pts/") && text.includes("\n42"));
    terminal.write("exit 5\n");
    expect((await terminal.ended).code).toBe(5);
  });

  test("attach talks with the program that runs", async () => {
    const script = "while read line; do echo read $line; done";
    await createPod(world.api, "listener", {
      spec: {
        containers: [shell("main", script, { stdin: true })],
        terminationGracePeriodSeconds: 0,
      },
    });
    await untilPod(world.api, "listener", isReady);
    const attached = world.kubectl.start("attach", "-i", "listener");
    attached.write("one\n");
    await attached.untilPrinted((text) => text.includes("read one\n"));
    attached.write("two\n");
    await attached.untilPrinted((text) => text.includes("read two\n"));
    const { stdout } = await attached.stop("SIGKILL");
    expect(stdout).toContain("read one\nread two\n");
  });

  test("cp carries files in and out", async () => {
    const folder = mkdtempSync(join(tmpdir(), "berth-cp-"));
    const content = Buffer.alloc(3_000_000, "0123456789abcdef\n");
    writeFileSync(join(folder, "in"), content);
    await world.kubectl.run("cp", join(folder, "in"), "target:/tmp/there");
    await world.kubectl.run("cp", "target:/tmp/there", join(folder, "out"));
    expect(readFileSync(join(folder, "out")).equals(content)).toBe(true);
    rmSync(folder, { recursive: true });
  });

  test("port-forward leads to the pod's port, over and over", async () => {
    const forward = world.kubectl.start("port-forward", "pod/target", ":8080");
    await forward.untilPrinted((text) => text.includes("Forwarding from 127.0.0.1:"));
    const port = /127\.0\.0\.1:(\d+)/.exec(forward.output)?.[1];
    for (let round = 0; round < 3; round += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/index.html`, {
        headers: { connection: "close" },
      });
      expect(await answer.text()).toBe("served\n");
    }
    await forward.stop("SIGKILL");
  });

  test("debug adds a container to the running pod", async () => {
    const flags = ["--target=main", "--profile=general", "--image-pull-policy=IfNotPresent"];
    const look = ["sh", "-c", "ps | grep -c [h]ttpd; sleep 3600"];
    const image = "--image=busybox:latest";
    await world.kubectl.run("debug", "target", "-c", "look", ...flags, image, "--", ...look);
    const pod = await untilPod(world.api, "target", ({ status }) =>
      (status?.ephemeralContainerStatuses ?? []).some(({ state }) => state?.running !== undefined),
    );
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    const printed = await world.kubectl.run("logs", "target", "-c", "look");
    expect(Number(printed)).toBeGreaterThanOrEqual(1);
  });

  test("describe, events, wait, get and top show the pod and the node", async () => {
    const described = await world.kubectl.run("describe", "pod", "target");
    for (const word of ["Scheduled", "Pulled", "Created", "Started", "Running"]) {
      expect(described).toContain(word);
    }
    const events = await world.kubectl.run("events", "--for", "pod/target");
    expect(events).toMatch(/Normal\s+Started\s+Pod\/target/);
    await world.kubectl.run("wait", "--for=condition=Ready", "pod/target", "--timeout=10s");
    const node = await world.kubectl.run("describe", "node", world.node.name);
    for (const word of ["KubeletReady", "Allocatable", "containerd://", "target"]) {
      expect(node).toContain(word);
    }
    await world.kubectl.run("delete", "pod", "target", "--wait=false");
    await world.kubectl.run("wait", "--for=delete", "pod/target", "--timeout=40s");
  });
});
