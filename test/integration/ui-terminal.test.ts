import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimeContainerId } from "../../src/model/ids.ts";
import { type ServedApi, serveApi } from "../fakes/served-api.ts";
import { askForTerminal, type ServedUiPage, serveUi } from "../fakes/served-ui.ts";
import { runningPod } from "../kit/pods.ts";
import { clientFrame, serverFrames } from "../kit/websocket-client.ts";
import { RuntimeAgentView } from "./support/runtime-agent-view.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

describe("a terminal of the page on a real runtime", () => {
  let world: RuntimeWorld;
  let api: ServedApi;
  let page: ServedUiPage;
  let containerId: string;
  beforeAll(async () => {
    world = await startRuntimeWorld({ network: 44 });
    ({ containerId } = await world.runPod({ name: "web", command: ["sleep", "3600"] }));
    const view = new RuntimeAgentView(world, containerId);
    view.put(runningPod("web"));
    api = await serveApi(view);
    page = await serveUi({ agentSocket: api.socketPath, terminal: true, pageFolder: "/nowhere" });
  });
  afterAll(async () => {
    // What of it there is: its beginning may have failed.
    try {
      await page?.stop();
      await api?.stop();
    } finally {
      await world?.close();
    }
  });

  /** A terminal as a browser has it. */
  async function openTerminal(...command: readonly string[]) {
    const query = new URLSearchParams({ namespace: "default", pod: "web" });
    for (const argument of command) query.append("command", argument);
    const answer = await askForTerminal(page, query.toString());
    if (answer.kind !== "open") throw new Error(answer.message);
    const { socket, head } = answer;
    const frames = serverFrames(socket, head);
    let printed = "";
    const ends: unknown[] = [];
    const next = async (): Promise<boolean> => {
      const { done, value } = await frames.next();
      if (done === true) return false;
      if (value.opcode === 2) printed += value.data.toString();
      if (value.opcode === 1) ends.push(JSON.parse(value.data.toString()));
      return true;
    };
    return {
      socket,
      type: (text: string) => void socket.write(clientFrame(2, Buffer.from(text))),
      control: (message: object) =>
        void socket.write(clientFrame(1, Buffer.from(JSON.stringify(message)))),
      printed: () => printed,
      until: async (text: string) => {
        while (!printed.includes(text) && (await next()));
        expect(printed).toContain(text);
      },
      end: async () => {
        while (ends.length === 0 && (await next()));
        return ends[0];
      },
    };
  }

  /** The commands that run in the container. */
  async function processes(): Promise<string> {
    const { stdout } = await world.runtime.execSync(
      runtimeContainerId(containerId),
      ["ps", "-o", "args"],
      60,
      AbortSignal.timeout(60_000),
    );
    return Buffer.from(stdout ?? []).toString();
  }

  test("what is typed is run, and what it prints comes back", async () => {
    const terminal = await openTerminal("sh");
    terminal.type("echo $((6*7))-times\n");
    await terminal.until("42-times\r\n");
    // Nothing of how the server asks for the shell's process is shown.
    expect(terminal.printed()).not.toMatch(/^\d+\r?$|\$0/m);
    terminal.type("exit 5\n");
    expect(await terminal.end()).toEqual({ exit: { code: 5 } });
  });

  test("the command's terminal has the size that the browser's has", async () => {
    const terminal = await openTerminal("sh");
    terminal.control({ resize: { columns: 97, rows: 31 } });
    terminal.type("while [ \"$(stty size)\" != '31 97' ]; do :; done; echo re''sized\n");
    await terminal.until("resized");
    terminal.type("exit\n");
    expect(await terminal.end()).toEqual({ exit: { code: 0 } });
  });

  test("a command that is not there is named", async () => {
    const terminal = await openTerminal("/bin/nothing");
    expect(await terminal.end()).toMatchObject({ error: expect.stringContaining("/bin/nothing") });
  });

  test.each([
    ["a shell and what runs in its foreground", ["sh"], "sleep 4321\n", "sleep 4321"],
    ["a command other than a shell", ["cat", "-v"], "x\n", "cat -v"],
  ])("%s end when the browser goes", async (_, command, typed, runs) => {
    const terminal = await openTerminal(...command);
    terminal.type(typed);
    await expect.poll(processes).toContain(runs);
    terminal.socket.destroy();
    await expect.poll(processes).not.toContain(runs);
  });

  test("a size that is none ends the terminal, and nothing is left of it", async () => {
    const terminal = await openTerminal("sh");
    terminal.type("sleep 4322\n");
    await expect.poll(processes).toContain("sleep 4322");
    terminal.control({ resize: { columns: -1, rows: "many" } });
    expect(await terminal.end()).toBeUndefined();
    await expect.poll(processes).not.toContain("sleep 4322");
  });
});
