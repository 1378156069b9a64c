import { execFile } from "node:child_process";

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;

/** Runs a program with an argument array and `input` to read; rejects with its own words when it fails. */
export function runCommand(
  program: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(failureText(program, args, stderr, error), { cause: error }));
      },
    );
    // A program that ends before it has read everything says why itself.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

function failureText(
  program: string,
  args: readonly string[],
  stderr: string,
  error: Error,
): string {
  const words = stderr.trim();
  return `${[program, ...args].join(" ")} failed: ${words === "" ? error.message : words}`;
}
