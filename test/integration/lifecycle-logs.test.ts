import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { runInside } from "./support/agent-inside.ts";
import { podManifest, shell } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

/** Ten thousand lines a second until it is stopped: each second's lines come in one burst. */
const linesPerSecond = 10_000;
const burst = `awk -v i=$i 'BEGIN { for (n = 1; n <= ${linesPerSecond}; n++) print "line " i * ${linesPerSecond} + n }'`;
const writer = `i=0; while [ ! -e /tmp/enough ]; do ${burst}; i=$((i + 1)); sleep 0.9; done; echo end $i; sleep 2`;

describe("container logs", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.create(60);
    await world.up("--container-log-max-size", "1Mi", "--container-log-max-files", "20");
    await world.importImages();
  });
  afterAll(() => world.close());

  const logFolder = ({ metadata }: Pod): string =>
    join(world.dataDir, "logs", `${metadata.namespace}_${metadata.name}_${metadata.uid}`, "main");
  const until = (name: string, isReached: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReached);

  test("rotation under 10 000 lines a second loses and doubles none, on disk and for a follower", async () => {
    const containers = [shell("main", writer)];
    world.write("fast.json", podManifest("fast", { containers, restartPolicy: "Never" }));
    const pod = await until("fast", ({ status }) => status?.phase === "Running");
    const folder = logFolder(pod);
    // One that is being compressed is there twice.
    const rotations = (): number =>
      new Set(readdirSync(folder).map((name) => /^0\.log\.\d{8}-\d{6}/.exec(name)?.[0])).size - 1;
    const follower = world.start("logs", "fast", "-f");
    await expect.poll(rotations).toBeGreaterThan(0);
    // The rotation goes on in the next agent; a follower of the first ends with it.
    await world.agent.stop("SIGKILL");
    await follower.ended;
    await world.up("--container-log-max-size", "1Mi", "--container-log-max-files", "20");
    const second = world.start("logs", "fast", "-f");
    await second.untilPrinted(({ stdout }) => stdout !== "");
    const before = rotations();
    await expect.poll(rotations).toBeGreaterThan(before);
    await runInside(world, pod, ["touch", "/tmp/enough"]);
    const ended = await until("fast", ({ status }) => status?.phase === "Succeeded");
    expect(ended.metadata.uid).toBe(pod.metadata.uid);
    const followed = await second.ended;
    expect(followed.code).toBe(0);

    const files = readdirSync(folder).toSorted();
    const rotated = files.filter((name) => name !== "0.log");
    expect(rotated.length).toBeGreaterThanOrEqual(2);
    expect(rotated.slice(0, -1).every((name) => /^0\.log\.\d{8}-\d{6}\.gz$/.test(name))).toBe(true);
    expect(rotated.at(-1)).toMatch(/^0\.log\.\d{8}-\d{6}$/);
    const written = [...rotated, "0.log"].flatMap((name) => logLines(join(folder, name)));
    const end = written.at(-1) ?? "";
    const length = Number(/^end (\d+)$/.exec(end)?.[1]) * linesPerSecond;
    expectSameLines(written, [...Array.from({ length }, (_, n) => `line ${n + 1}`), end]);
    expectSameLines(followed.stdout.trimEnd().split("\n"), lastOf(written, followed.stdout));
    expect(followed.stdout.endsWith(`${end}\n`)).toBe(true);
    // It went through at least one rotation.
    expect(followed.stdout.split("\n").length).toBeGreaterThan(
      logLines(join(folder, "0.log")).length + 1,
    );
  });

  test("keeps as many files as configured, and continues in a new one", async () => {
    await world.agent.stop("SIGTERM");
    await world.up("--container-log-max-size", "100Ki", "--container-log-max-files", "3");
    const containers = [shell("main", "while :; do seq 1 20000; sleep 1; done")];
    world.write("bounded.json", podManifest("bounded", { containers }));
    const pod = await until("bounded", ({ status }) => status?.phase === "Running");
    const folder = logFolder(pod);
    await expect
      .poll(() => readdirSync(folder).filter((name) => name.endsWith(".gz")), { timeout: 60_000 })
      .toHaveLength(1);
    const oldest = readdirSync(folder).toSorted()[1];
    await expect
      .poll(() => readdirSync(folder).includes(oldest ?? ""), { timeout: 60_000 })
      .toBe(false);
    expect(readdirSync(folder).length).toBeLessThanOrEqual(3);
    // The container goes on writing to the new file.
    await expect.poll(() => statSync(join(folder, "0.log")).size).toBeGreaterThan(0);
    world.remove("bounded.json");
  });

  test("shows the run before, the first bytes, and the lines since a time", async () => {
    // Only the first run ends, so that it stays the one before.
    const script =
      "[ -e /once/over ] && sleep 3600; touch /once/over; echo run; sleep 1; echo two; exit 1";
    const volumeMounts = [{ name: "once", mountPath: "/once" }];
    const volumes = [{ name: "once", emptyDir: {} }];
    const containers = [shell("main", script, { volumeMounts })];
    world.write("again.json", podManifest("again", { containers, volumes }));
    await until("again", (pod) => restartsOf(pod) === 1 && isReady(pod));
    const previous = await world.berth("logs", "again", "--previous", "--timestamps");
    const lines = previous.stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[1])).toEqual(["run", "two"]);
    const since = lines[1]?.split(" ")[0] ?? "";
    expect((await world.berth("logs", "again", "-p", "--since-time", since)).stdout).toBe("two\n");
    expect((await world.berth("logs", "again", "-p", "--limit-bytes", "5")).stdout).toBe("run\nt");
    expect((await world.berth("logs", "again", "-p", "--tail", "1")).stdout).toBe("two\n");
    const wrong = await world.berth("logs", "again", "--limit-bytes", "none");
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toMatch(/limit-?bytes/i);
    world.remove("again.json");
  });
});

/** The texts of a log in the CRI's format. */
function logLines(path: string): string[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  return text
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [line.split(" ").slice(3).join(" ")]));
}

/** The end of `lines` that is as long as a text. */
function lastOf(lines: readonly string[], text: string): readonly string[] {
  return lines.slice(-text.trimEnd().split("\n").length);
}

/** Without printing hundreds of thousands of lines when they differ. */
function expectSameLines(actual: readonly string[], expected: readonly string[]): void {
  const differs = expected.findIndex((line, index) => actual[index] !== line);
  expect({ count: actual.length, around: actual.slice(differs, differs + 3) }).toEqual({
    count: expected.length,
    around: expected.slice(differs, differs + 3),
  });
}
