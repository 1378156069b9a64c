import { expect, test } from "vitest";
import { captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { runCli } from "../main.ts";

async function refused(...args: readonly string[]): Promise<string> {
  const terminal = captureTerminal({ environment: {}, nowMs: 0 });
  expect(await runCli(["sim", ...args], terminal, AbortSignal.timeout(10_000))).toBe(2);
  return terminal.stderrText();
}

test.each(["0", "-1", "fast", "1e3", "", "1001", "Infinity"])(
  "an invalid speed is refused, naming the flag: %j",
  async (speed) => {
    expect(await refused("-f", "pods", `--speed=${speed}`)).toContain(
      `flag --speed: "${speed}" is not a speed: give a number above 0, at most 1000`,
    );
  },
);

test("manifests must be named", async () => {
  expect(await refused()).toContain("say which manifests with -f");
});
