import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerStateTerminated } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("how containers and pods end", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(62);
  });
  afterAll(() => world.close());

  const hasEnded = ({ status }: Pod): boolean =>
    status?.phase === "Succeeded" || status?.phase === "Failed";

  /** Runs a pod to its end; how each of its containers ended. */
  async function ends(
    name: string,
    spec: Parameters<typeof podManifest>[1],
  ): Promise<Readonly<Record<string, ContainerStateTerminated | undefined>>> {
    world.write(`${name}.json`, podManifest(name, { restartPolicy: "Never", ...spec }));
    const pod = await waitForPod(world.client, world.podName(name), hasEnded);
    const statuses = pod.status?.containerStatuses ?? [];
    return Object.fromEntries(statuses.map((each) => [each.name, each.state?.terminated]));
  }

  test("a container's last words are read from its file, the log or nowhere, as it asks", async () => {
    const fallback = { terminationMessagePolicy: "FallbackToLogsOnError" };
    const ended = await ends("words", {
      containers: [
        shell("file", "echo log; printf 'last words' > /dev/termination-log"),
        shell("path", "printf there > /tmp/words; exit 1", {
          terminationMessagePath: "/tmp/words",
        }),
        shell("log", "echo one; echo two >&2; exit 3", fallback),
        shell("well", "echo one", fallback),
        shell("both", "echo log; printf file > /dev/termination-log; exit 1", fallback),
        shell("none", "echo log; exit 1"),
      ],
    });
    expect(ended["file"]).toMatchObject({
      message: "last words",
      reason: "Completed",
      exitCode: 0,
    });
    expect(ended["path"]).toMatchObject({ message: "there", reason: "Error", exitCode: 1 });
    expect(ended["log"]).toMatchObject({ reason: "Error", exitCode: 3 });
    expect(ended["log"]?.message?.split("\n").toSorted()).toEqual(["", "one", "two"]);
    expect(ended["well"]?.message).toBeUndefined();
    expect(ended["both"]?.message).toBe("file");
    expect(ended["none"]?.message).toBeUndefined();
  });

  test("the end of long last words is kept: 4096 bytes of a file, 2048 and 80 lines of a log, 12 KiB in all", async () => {
    const fallback = { terminationMessagePolicy: "FallbackToLogsOnError" };
    const many = "head -c 20000 /dev/zero | tr '\\0' x";
    const [one] = Object.values(
      await ends("long", {
        containers: [
          shell("main", `${many} > /dev/termination-log; echo y >> /dev/termination-log`),
        ],
      }),
    );
    expect(one?.message).toHaveLength(4096);
    expect(one?.message?.endsWith("xy\n")).toBe(true);
    const logs = await ends("long-logs", {
      containers: [
        shell("bytes", `${many}; echo y; exit 1`, fallback),
        shell("lines", "seq 1 200; exit 1", fallback),
      ],
    });
    expect(logs["bytes"]?.message).toHaveLength(2048);
    expect(logs["bytes"]?.message?.endsWith("xy\n")).toBe(true);
    expect(logs["lines"]?.message?.split("\n").slice(0, 2)).toEqual(["121", "122"]);
    const six = await ends("all", {
      containers: Array.from({ length: 6 }, (_, n) =>
        shell(`c${n}`, `${many} > /dev/termination-log`),
      ),
    });
    expect(Object.values(six).map((each) => each?.message?.length)).toEqual(Array(6).fill(2048));
  });

  test("a container that takes more memory than it may is OOMKilled", async () => {
    const { main } = await ends("oom", {
      containers: [
        shell("main", "exec tail /dev/zero", {
          resources: { limits: { memory: "16Mi" }, requests: { memory: "16Mi" } },
        }),
      ],
    });
    expect(main).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
  });

  test("a pod is ended at its active deadline, with no other reason to sync it, and says why", async () => {
    const containers = [shell("main", untilStopped)];
    const spec = { containers, activeDeadlineSeconds: 15, restartPolicy: "Always" };
    world.write("deadline.json", podManifest("deadline", spec));
    const running = await waitForPod(
      world.client,
      world.podName("deadline"),
      ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined,
    );
    const ended = await waitForPod(world.client, world.podName("deadline"), hasEnded);
    expect(ended.status).toMatchObject({
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    });
    const stopped = await waitForPod(
      world.client,
      world.podName("deadline"),
      ({ status }) => status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    );
    const finishedAt = stopped.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? "";
    const seconds = (Date.parse(finishedAt) - Date.parse(running.status?.startTime ?? "")) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(15);
    // A sync every minute would come too late.
    expect(seconds).toBeLessThan(50);
    expect(stopped.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    const { stdout } = await world.berth("describe", "pod", "deadline");
    expect(stdout).toMatch(/Normal\s+DeadlineExceeded/);
    expect(
      await world.runtime.listContainers(
        { labelSelector: { "io.kubernetes.pod.uid": ended.metadata.uid }, state: { state: 1 } },
        AbortSignal.timeout(60_000),
      ),
    ).toEqual([]);
  });
});
