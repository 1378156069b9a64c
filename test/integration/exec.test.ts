import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/main.ts";
import { type CapturedTerminal, captureTerminal } from "../fakes/captured-terminal.ts";
import { type ServedApi, serveApi } from "../fakes/served-api.ts";
import { runningPod } from "../kit/pods.ts";
import { RuntimeAgentView } from "./support/runtime-agent-view.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

describe("berth exec on a real runtime", () => {
  let world: RuntimeWorld;
  let api: ServedApi;
  let terminal: CapturedTerminal;
  beforeAll(async () => {
    world = await startRuntimeWorld({ network: 40 });
    const { containerId } = await world.runPod({ name: "web", command: ["sleep", "3600"] });
    const view = new RuntimeAgentView(world, containerId);
    view.put(runningPod("web"));
    api = await serveApi(view);
  });
  afterAll(async () => {
    await api.stop();
    await world.close();
  });
  beforeEach(() => {
    terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
  });
  const berth = (...args: readonly string[]): Promise<number> =>
    runCli(args, terminal, AbortSignal.timeout(60_000));

  test("keeps stdout and stderr apart and answers the command's exit code", async () => {
    const script = "echo out; echo err >&2; exit 3";
    expect(await berth("exec", "web", "--", "sh", "-c", script)).toBe(3);
    expect(terminal.stdoutText()).toBe("out\n");
    expect(terminal.stderrText()).toBe("err\n");
  });

  test("passes stdin on to its end, byte for byte", async () => {
    const data = Buffer.alloc(300_000, "berth ");
    terminal.stdin.end(data);
    expect(await berth("exec", "-i", "web", "--", "cat")).toBe(0);
    expect(terminal.stdoutText() === data.toString()).toBe(true);
  });

  test("carries much output without losing any of it", async () => {
    expect(await berth("exec", "web", "--", "sh", "-c", "yes berth | head -c 3000000")).toBe(0);
    expect(terminal.stdoutText().length).toBe(3_000_000);
  });

  test("gives the command a terminal of the size that the user's has", async () => {
    let restored = false;
    const screen = {
      enterRawMode: () => () => {
        restored = true;
      },
      size: () => ({ width: 101, height: 37 }),
      onResize: () => undefined,
    };
    terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir }, screen });
    const script =
      'while [ -z "$(stty size 2>/dev/null)" ]; do :; done; stty size; tty; read x; echo got $x';
    terminal.stdin.write("hello\n");
    expect(await berth("exec", "-it", "web", "--", "sh", "-c", script)).toBe(0);
    expect(terminal.stdoutText()).toContain("37 101\r\n");
    expect(terminal.stdoutText()).toContain("/dev/pts/0");
    expect(terminal.stdoutText()).toContain("got hello\r\n");
    expect(restored).toBe(true);
  });

  test("says what is wrong when the command cannot be started", async () => {
    expect(await berth("exec", "web", "--", "no-such-program")).not.toBe(0);
    expect(terminal.stderrText()).toContain("no-such-program");
  });

  test("ends at once when the user interrupts it", async () => {
    const interrupt = new AbortController();
    const running = runCli(
      ["exec", "web", "--", "sh", "-c", "echo up; sleep 60"],
      terminal,
      interrupt.signal,
    );
    await expect.poll(() => terminal.stdoutText(), { timeout: 60_000 }).toBe("up\n");
    interrupt.abort();
    expect(await running).toBe(130);
  });
});
