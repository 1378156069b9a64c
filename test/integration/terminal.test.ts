// What people see on a terminal: `script` of util-linux makes one.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const program = join(import.meta.dirname, "../../dist/berth.js");

let folder: string;
let dataDir: string;
let manifests: string;
beforeAll(() => {
  buildProgram();
  folder = makeTestFolder("terminal");
  dataDir = join(folder, "data");
  manifests = join(folder, "manifests");
  mkdirSync(manifests);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the test under way has started: one that fails leaves it running. */
const started: OnTerminal[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.end();
});

/** A command on a terminal of its own. */
class OnTerminal {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #text = "";

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const words = [process.execPath, program, ...args].map((word) => `'${word}'`);
    // It dies with its terminal, whatever it makes of a hangup.
    const command = `stty cols 70 rows 6; exec setpriv --pdeathsig KILL -- ${words.join(" ")}`;
    // With an input that stays open: at its end `script` would end the terminal.
    this.#child = spawn("script", ["-qefc", command, "/dev/null"], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: process.env["PATH"], TERM: "xterm", ...environment },
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#text += text;
    });
    this.#closed = once(this.#child, "close");
    started.push(this);
  }

  get text(): string {
    return this.#text;
  }

  async interrupt(): Promise<number | null> {
    // As the key does it: the terminal makes a signal of it.
    this.#child.stdin?.write("\x03");
    await this.#closed;
    return this.#child.exitCode;
  }

  async end(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }
}

function putPod(name: string, pull: string): void {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations: { "sim.berth.dev/main.pull": pull } },
    spec: { containers: [{ name: "main", image: `example.test/${name}:1` }] },
  };
  writeFileSync(join(manifests, `${name}.json`), JSON.stringify(pod));
}

const simulation = () => ["sim", "-f", manifests, "--data-dir", dataDir, "--node-name", "n1"];

test("on a terminal the agent logs for people, and what is logged cannot move the cursor", async () => {
  const agent = new OnTerminal([...simulation(), "--log-level", "debug"]);
  await vi.waitFor(() => expect(agent.text).toContain("The agent is up"), 60_000);
  writeFileSync(join(manifests, "bad\x1b[2J\x9b.json"), "{");
  await vi.waitFor(() => expect(agent.text).toContain("bad manifest"), 60_000);
  expect(await agent.interrupt()).toBe(0);
  rmSync(join(manifests, "bad\x1b[2J\x9b.json"));
  const line = agent.text.split("\r\n").find((each) => each.includes("bad manifest")) ?? "";
  expect(line).toContain("\x1b[0m \x1b[33mWARN \x1b[0m bad manifest ");
  expect(line).toContain("bad\\u001b[2J\\u009b.json");
});

test("without colours where they are not wanted, and as JSON where that is asked for", async () => {
  const plain = new OnTerminal([...simulation(), "--log-level", "debug"], { NO_COLOR: "1" });
  await vi.waitFor(() => expect(plain.text).toMatch(/DEBUG .*\r\n/), 60_000);
  await plain.interrupt();
  expect(plain.text).not.toContain("\x1b");
  const json = new OnTerminal([...simulation(), "--log-level", "debug", "--log-format", "json"]);
  await vi.waitFor(() => expect(json.text).toContain('{"level":"debug","time":'), 60_000);
  await json.interrupt();
});

test("a watch on a terminal draws its table in place with the progress of pulls, and prints rows into a pipe", async () => {
  putPod("first", "take 1h");
  const agent = new BerthProcess(simulation());
  try {
    await agent.untilPrinted(({ stdout }) => stdout.includes("The agent is up"));
    const watch = ["get", "pods", "-w", "--data-dir", dataDir];
    const shown = new OnTerminal(watch);
    const piped = new BerthProcess(watch);
    await vi.waitFor(() => {
      expect(shown.text).toContain("(pulling example.test/first:1)");
      expect(piped.stdout).toContain("(pulling example.test/first:1)");
    }, 60_000);
    putPod("second", "ok");
    const last = () => shown.text.slice(shown.text.lastIndexOf("\x1b[J", shown.text.length - 4));
    await vi.waitFor(() => {
      // One header and both pods, over the block before.
      expect(last()).toMatch(/\[[23]A\r\S*NAME[\s\S]*first-n1[\s\S]*second-n1[\s\S]*Running/);
      expect(piped.stdout).toMatch(/second-n1 .*Running/);
    }, 60_000);
    expect(await shown.interrupt()).toBe(0);
    await piped.stop("SIGINT");
    expect(piped.stdout).not.toContain("\x1b");
    expect(piped.stdout.match(/NAME/g)).toHaveLength(1);
  } finally {
    await agent.stop("SIGTERM");
  }
});
