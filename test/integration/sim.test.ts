import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BerthProcess,
  buildProgram,
  type Ended,
  type ProgramUser,
  programFor,
} from "./support/agent-process.ts";

/** An unprivileged user. */
const ordinaryUser = 65_534;

describe("berth sim as an ordinary user", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-sim-test-"));
  const manifests = join(folder, "pods");
  const runtimeDir = join(folder, "run");
  const environment = { BERTH_DATA_DIR: "", XDG_RUNTIME_DIR: runtimeDir };
  let user: ProgramUser;
  let agent: BerthProcess;
  let watch: BerthProcess;

  beforeAll(async () => {
    buildProgram();
    chmodSync(folder, 0o755);
    user = programFor(ordinaryUser, folder);
    for (const one of [manifests, runtimeDir]) {
      mkdirSync(one, { mode: 0o700 });
      chownSync(one, ordinaryUser, ordinaryUser);
    }
    writePod("stubborn", { "sim.berth.dev/main": "run, on TERM ignore" });
    agent = new BerthProcess(["sim", "-f", manifests, "--speed", "50"], environment, user);
    await agent.untilPrinted(({ stdout }) => stdout.includes(`BERTH_DATA_DIR=${dataDir}\n`));
    watch = start("get", "pods", "-w");
    await untilRow(/^stubborn-sim/);
  });
  afterAll(async () => {
    await Promise.all([watch, agent].map((one) => one?.stop("SIGKILL")));
    rmSync(folder, { recursive: true, force: true });
  });

  const dataDir = join(runtimeDir, "berth-sim");

  function writePod(name: string, annotations: Readonly<Record<string, string>>): void {
    const env = [{ name: "PASSWORD", value: "swordfish" }];
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations },
      spec: { containers: [{ name: "main", image: "example.com/app:1", env }] },
    };
    writeFileSync(join(manifests, `${name}.json`), JSON.stringify(pod), { mode: 0o644 });
  }

  function start(...args: readonly string[]): BerthProcess {
    return new BerthProcess(args, { ...environment, BERTH_DATA_DIR: dataDir }, user);
  }

  function berth(...args: readonly string[]): Promise<Ended> {
    return start(...args).ended;
  }

  function untilRow(row: RegExp): Promise<void> {
    return watch.untilPrinted(({ stdout }) => stdout.split("\n").some((line) => row.test(line)));
  }

  test("a pod is followed through its crash loop, with the same commands as ever", async () => {
    writePod("crash", { "sim.berth.dev/main": "run 2s, exit 3; run 2s, oom; run" });
    await untilRow(/^crash-sim\s+0\/1\s+CrashLoopBackOff\s+1 \(\d+s ago\)/);
    await untilRow(/^crash-sim\s+1\/1\s+Running\s+2 \(\d+s ago\)/);
    expect((await berth("logs", "crash")).stdout).toBe("run 3: run\n");
    expect((await berth("logs", "crash", "-p")).stdout).toBe(
      "run 2: run 2s, oom\nends with exit code 137 (OOMKilled)\n",
    );
    const { stdout: why } = await berth("why", "crash", "--syncs", "20");
    expect(why).toContain("because container main exited with code 3 and restartPolicy is Always");
    expect(why).toContain("CrashLoopBackOff: back-off 10s restarting failed container=main");
    const { stdout: described } = await berth("describe", "pod", "crash");
    expect(described).toMatch(
      /Last State:\s+Terminated\n\s+Reason:\s+OOMKilled\n\s+Exit Code:\s+137/,
    );
    expect(described).not.toContain("<invalid>");
  });

  test("a script that means nothing refuses its pod, and nothing else", async () => {
    writePod("bad", { "sim.berth.dev/main": "walk" });
    await agent.untilPrinted(({ stderr }) => stderr.includes("walk"));
    expect(agent.stderr).toContain("pod default/bad-sim");
    expect(agent.stderr).toContain("metadata.annotations[sim.berth.dev/main]");
    expect(agent.stderr).toContain("allowed is run [DURATION], exit CODE, oom");
    expect((await berth("get", "pods", "-o", "name")).stdout).not.toContain("bad");
    writePod("bad", { "sim.berth.dev/main": "run" });
    await untilRow(/^bad-sim\s+1\/1\s+Running/);
  });

  test("a pod whose manifest is removed ends, even if it does not want to", async () => {
    await untilRow(/^stubborn-sim\s+1\/1\s+Running/);
    rmSync(join(manifests, "stubborn.json"));
    await untilRow(/^stubborn-sim\s+1\/1\s+Terminating/);
    await untilRow(/^stubborn-sim\s+0\/1\s+Terminating/);
    const { stdout } = await berth("describe", "pod", "crash");
    expect(stdout).toMatch(/Restart Count:\s+2/);
  });

  test("a recording of it is decided again the same, and a changed one is not", async () => {
    const { stdout: recording } = await berth("why", "--recording");
    expect(recording).toContain("default");
    expect(recording).not.toContain("swordfish");
    const replay = (text: string): Promise<Ended> => {
      const file = join(manifests, ".recording.jsonl");
      writeFileSync(file, text, { mode: 0o644 });
      return berth("replay", file);
    };
    const same = await replay(recording);
    expect(same).toMatchObject({ code: 0, stderr: "" });
    expect(same.stdout).toMatch(/^\d\d+ decisions, all the same/);
    const plan = "container main exited with code 3 and restartPolicy is Always";
    const other = await replay(recording.replace(plan, "it felt like it"));
    expect(other).toMatchObject({ code: 1, stderr: "" });
    expect(other.stdout).toContain("the plan of pod default/crash-sim");
    expect(other.stdout).toContain(
      `steps[0].because\n    recorded  "it felt like it"\n    now       "${plan}"`,
    );
    const cut = await replay(recording.slice(0, -10));
    expect(cut.code).toBe(2);
    expect(cut.stderr).toMatch(/\.recording\.jsonl:\d+: not a JSON object/);
    const { stdout: one } = await berth("why", "bad", "--recording");
    expect(one).toContain('"name":"bad-sim"');
    expect(one).not.toContain("crash-sim");
  });

  test("a second one on its data dir, or one without manifests, is refused", async () => {
    const second = await berth("sim", "-f", manifests);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`${dataDir} is in use by the agent with pid ${agent.pid}`);
    const elsewhere = join(runtimeDir, "other");
    const missing = await berth("sim", "-f", "no-such.yaml", "--data-dir", elsewhere);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("no-such.yaml: no such file or folder");
  });

  test("Ctrl-C ends it and leaves nothing", async () => {
    const { code } = await agent.stop("SIGINT");
    expect(code).toBe(0);
    expect(readdirSync(runtimeDir)).toEqual([]);
    expect((await berth("get", "pods")).code).toBe(3);
  });
});
