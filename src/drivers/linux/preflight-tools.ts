import { execFile } from "node:child_process";
import { type CheckResult, failed, passed } from "../../lib/check-result.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Machine, Tool } from "../../model/machine.ts";

const TIMEOUT_MS = 5_000;

/** Whether a program is there and runs, and its version. */
export async function checkTool(
  machine: Machine,
  tool: Tool,
  packageName: string,
): Promise<CheckResult> {
  const path = machine.tools[tool];
  if (path === undefined) {
    return failed(tool, "not installed", `install the package ${packageName}`);
  }
  try {
    const output = await runTool(path, ["--version"]);
    return passed(tool, `${/\bv?(\d+\.\d+[^\s,]*)/.exec(output)?.[1] ?? "?"} (${path})`);
  } catch (error) {
    const fix = `check ${path}, or install the package ${packageName} again`;
    return failed(tool, `does not run: ${errorText(error)}`, fix);
  }
}

/** What a program prints; rejects when it fails. */
export function runTool(path: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      path,
      args,
      { timeout: TIMEOUT_MS, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr.trim() === "" ? error.message : stderr.trim()));
      },
    );
  });
}
