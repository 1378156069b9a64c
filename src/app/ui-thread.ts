// The thread of the page: what browsers send is parsed here, apart from the agent. Started by serve-ui.ts.
import { parentPort, workerData } from "node:worker_threads";
import { ListenError } from "../server/tcp-server.ts";
import { NoteKeeper } from "../server/thread/note-keeper.ts";
import { ThreadCaller } from "../server/thread/thread-calls.ts";
import { showProgress } from "../server/thread/thread-start.ts";
import { Logins } from "../server/ui/logins.ts";
import { runUiServer } from "../server/ui/ui-server.ts";
import type {
  UiCalls,
  UiThreadData,
  UiThreadEvent,
  UiThreadOrder,
} from "../server/ui/ui-settings.ts";

/** It only hands over what it logged, one batch at a time. */
const maxCallsInFlight = 1;

function send(event: UiThreadEvent): void {
  parentPort?.postMessage(event);
}

async function runThread({ settings, agentPort, ...start }: UiThreadData): Promise<void> {
  showProgress(start);
  const forever = new AbortController().signal;
  const calls = new ThreadCaller(agentPort, maxCallsInFlight).calls<UiCalls>(["record"], []);
  const notes = new NoteKeeper(
    (kept) => calls.record(kept, forever),
    "too many log lines of the page, some were left out",
  );
  const logins = new Logins(() => performance.now());
  parentPort?.on("message", ({ codeDigest }: UiThreadOrder) => logins.allow(codeDigest));
  try {
    const onListening = (port: number): void => send({ kind: "listening", port });
    await runUiServer({ settings, logins, log: notes.log }, onListening, forever);
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    send({ kind: "cannot-listen", message: error.message });
  }
}

// A rejection ends the thread, with its reason. Without await: the one executable runs it as CommonJS.
void runThread(workerData as UiThreadData);
