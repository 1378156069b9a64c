import { execFile } from "node:child_process";
import { join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import type { CredentialPluginCall, CredentialPlugins } from "../../ports/credential-plugins.ts";

const timeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;
const maxComplaint = 500;

/** Credential providers as programs of a folder. */
export function credentialPlugins(folder: string): CredentialPlugins {
  return { run: (call, signal) => runPlugin(join(folder, call.name), call, signal) };
}

function runPlugin(
  program: string,
  { args, env, input }: CredentialPluginCall,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      {
        env: { ...process.env, ...env },
        timeout: timeoutMs,
        killSignal: "SIGKILL",
        maxBuffer: maxOutputBytes,
        signal,
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(failureText(error, stderr)));
      },
    );
    // A program that does not read what it is asked closes the pipe early; how it ends says the rest.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

// What a program prints to its standard output is secret; the texts of Node's errors do not have it.
function failureText(error: Error & { readonly code?: unknown }, stderr: string): string {
  const complaint = stderr.trim().slice(0, maxComplaint);
  const { code } = error;
  if ("killed" in error && error.killed === true) {
    return `it was stopped: it took longer than ${timeoutMs / 1000} s or printed too much`;
  }
  if (typeof code === "number") return `it failed with exit code ${code}: ${complaint}`;
  return errorText(error);
}
