import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("commands on a running agent", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(5);
    world.write("web.json", podManifest("web", { containers: [talker] }));
    world.write("quiet.json", podManifest("quiet"));
    await Promise.all([ready("web"), ready("quiet")]);
  });
  afterAll(() => world.close());

  /** Prints a few lines, and another whenever a file asks for it. */
  const talker = shell(
    "main",
    [
      "echo one; echo two; echo three",
      "trap 'exit 0' TERM",
      "while true; do if test -e /more; then rm /more; echo more; fi; sleep 0.1; done",
    ].join("\n"),
  );
  const ready = (name: string, isIt: (pod: Pod) => boolean = () => true): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), (pod) => isReady(pod) && isIt(pod));

  test("a second berth up on the same data dir is refused with the pid of the first", async () => {
    const second = await world.berth("up", "-f", world.manifests);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`pid ${world.agent.pid}`);
    expect(second.stderr).toContain(world.dataDir);
    expect((await world.berth("get", "pods")).code).toBe(0);
  });

  test("exec answers the exit code of the command, and another one for its own failures", async () => {
    const said = await world.berth(
      "exec",
      "web",
      "--",
      "sh",
      "-c",
      "echo out; echo err >&2; exit 7",
    );
    expect(said).toEqual({ code: 7, stdout: "out\n", stderr: "err\n" });
    expect((await world.berth("exec", "web", "--", "true")).code).toBe(0);
    expect((await world.berth("exec", "absent", "--", "true")).code).toBe(4);
    expect((await world.berth("exec", "web", "-c", "absent", "--", "true")).code).toBe(4);
    expect((await world.berth("exec", "web")).code).toBe(2);
    const missing = await world.berth("exec", "web", "--", "no-such-program");
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain("no-such-program");
  });

  test("logs prints everything, the last lines, or what comes", async () => {
    expect((await world.berth("logs", "web")).stdout).toBe("one\ntwo\nthree\n");
    expect((await world.berth("logs", "web", "--tail", "1")).stdout).toBe("three\n");
    const stamped = await world.berth("logs", "web", "--timestamps", "--tail", "1");
    expect(stamped.stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ three\n$/);
    const follower = world.start("logs", "web", "-f", "--tail", "1");
    await follower.untilPrinted(({ stdout }) => stdout === "three\n");
    await world.berth("exec", "web", "--", "touch", "/more");
    await follower.untilPrinted(({ stdout }) => stdout === "three\nmore\n");
    expect((await follower.stop("SIGINT")).stdout).toBe("three\nmore\n");
  });

  test("logs -p prints the run before, and logs -f ends with its container", async () => {
    const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
    const script = "echo x >> /scratch/runs; echo run $(wc -l < /scratch/runs)";
    const containers = [shell("main", `${script}; ${untilStopped}`, { volumeMounts })];
    const volumes = [{ name: "scratch", emptyDir: {} }];
    world.write("rerun.json", podManifest("rerun", { containers, volumes }));
    const { metadata } = await ready("rerun");
    const none = await world.berth("logs", "rerun", "-p");
    expect(none.code).not.toBe(0);
    const follower = world.start("logs", "rerun", "-f");
    await follower.untilPrinted(({ stdout }) => stdout === "run 1\n");
    const { main = "" } = await world.containerIds(metadata.uid);
    process.kill(world.pidOf(metadata.uid, main), "SIGKILL");
    await ready("rerun", (pod) => restartsOf(pod) === 1);
    expect(await follower.ended).toEqual({ code: 0, stdout: "run 1\n", stderr: "" });
    expect((await world.berth("logs", "rerun", "-p")).stdout).toBe("run 1\n");
    expect((await world.berth("logs", "rerun")).stdout).toBe("run 2\n");
  });

  test("get prints pods as a table, wide, as JSON and by name", async () => {
    const table = await world.berth("get", "pods");
    expect(table.stdout).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\n/);
    expect(table.stdout).toMatch(/^web-node +1\/1 +Running +0 +[\dms]+$/m);
    const pod = await ready("web");
    const wide = await world.berth("get", "pod", "web", "-o", "wide");
    expect(wide.stdout).toMatch(/^NAME .* IP +NODE\n/);
    expect(wide.stdout).toMatch(new RegExp(` ${pod.status?.podIP} +node *\\n$`));
    const one: unknown = JSON.parse((await world.berth("get", "pod", "web", "-o", "json")).stdout);
    expect(one).toMatchObject({ kind: "Pod", metadata: { name: "web-node" }, status: pod.status });
    const all: unknown = JSON.parse((await world.berth("get", "pods", "-o", "json")).stdout);
    expect(all).toMatchObject({ kind: "List" });
    const names = await world.berth("get", "pods", "-o", "name");
    expect(names.stdout.split("\n")).toEqual(
      expect.arrayContaining(["pod/quiet-node", "pod/web-node"]),
    );
    expect((await world.berth("get", "pod", "absent")).code).toBe(4);
    expect((await world.berth("get", "services")).code).toBe(2);
  });

  test("get -w prints a line for every change until the pod is gone", async () => {
    const watcher = world.start("get", "pods", "-w");
    await watcher.untilPrinted(({ stdout }) => stdout.includes("web-node"));
    world.write("brief.json", podManifest("brief"));
    await watcher.untilPrinted(({ stdout }) => /^brief-node +1\/1 +Running/m.test(stdout));
    world.remove("brief.json");
    await watcher.untilPrinted(({ stdout }) => /^brief-node .*Terminating/m.test(stdout));
    expect((await watcher.stop("SIGINT")).code).toBe(0);
  });

  test("describe and why show what was done with a pod", async () => {
    const described = await world.berth("describe", "pod", "web");
    expect(described.stdout).toMatch(/^Name: +web-node$/m);
    for (const reason of ["Pulled", "Created", "Started"]) {
      expect(described.stdout).toMatch(new RegExp(`Normal +${reason} `));
    }
    const why = await world.berth("why", "web");
    expect(why.stdout).toMatch(/Running, 1\/1 ready, 0 restarts, [\dms]+ old/);
    expect(why.stdout).toMatch(/create sandbox.*done/i);
  });
});
