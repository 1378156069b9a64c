// The program. Ctrl-C and SIGTERM let the command end by itself; a second Ctrl-C ends it at once.
import { setMaxListeners } from "node:events";
import { startTimer } from "../lib/timers.ts";
import { outputExitCode } from "./exit.ts";
import { runCli } from "./main.ts";
import { ignoreDebuggerSignal } from "./no-debugger.ts";
import { processTerminal } from "./terminal.ts";

const endingMs = 5_000;

// First of all.
ignoreDebuggerSignal();

// The end of the agent is one signal that every call and timer listens to.
setMaxListeners(0);

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => stopping.abort(new DOMException(name, "AbortError")));
}
process.stdout.on("error", (error) => {
  process.exit(outputExitCode(error, process.argv.slice(2)));
});

// Without await at the top: the one executable loads it as CommonJS.
void run();

async function run(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), processTerminal(), stopping.signal);
  // The command has ended; whatever still hangs must not keep the process.
  startTimer(endingMs, () => process.exit(), { keepsAlive: false });
}
