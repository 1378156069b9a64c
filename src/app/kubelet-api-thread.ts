// The thread of the kubelet's API: what strangers send is parsed here, apart from the agent. Started by serve-kubelet-api.ts.
import { parentPort, workerData } from "node:worker_threads";
import type { AgentCalls } from "../ports/agent-calls.ts";
import type {
  ApiThreadData,
  ApiThreadEvent,
  ApiThreadOrder,
} from "../server/kubelet/api-thread-messages.ts";
import { runApi } from "../server/kubelet/run-api.ts";
import { ListenError } from "../server/tcp-server.ts";
import { NoteKeeper } from "../server/thread/note-keeper.ts";
import { ThreadCaller } from "../server/thread/thread-calls.ts";
import { showProgress } from "../server/thread/thread-start.ts";

/** Further calls wait for these; a client has one request under way on each connection. */
const maxCallsInFlight = 64;

const callNames: Readonly<Record<keyof AgentCalls, true>> = {
  findPod: true,
  listPods: true,
  listRunningPods: true,
  readSummary: true,
  readMetrics: true,
  findLog: true,
  isLogFinished: true,
  execUrl: true,
  attachUrl: true,
  portForwardUrl: true,
  runInContainer: true,
  checkpoint: true,
  readHealth: true,
  reviewToken: true,
  reviewAccess: true,
  takeProfile: true,
  setVerbosity: true,
  record: true,
};

function send(event: ApiThreadEvent): void {
  parentPort?.postMessage(event);
}

async function runThread({ settings, agentPort, ...started }: ApiThreadData) {
  showProgress(started);
  let { certificates } = started;
  const listeners: (() => void)[] = [];
  parentPort?.on("message", (order: ApiThreadOrder) => {
    certificates = order;
    for (const notify of listeners) notify();
  });
  const caller = new ThreadCaller(agentPort, maxCallsInFlight);
  const names = Object.keys(callNames) as (keyof AgentCalls)[];
  // Health must be answered and notes handed over however many calls are under way; each is one at a time.
  const calls = caller.calls<AgentCalls>(names, ["readHealth", "record"]);
  const notes = new NoteKeeper(
    (kept) => calls.record(kept, new AbortController().signal),
    "too many log lines of the kubelet's API, some were left out",
  );
  const agent: AgentCalls = {
    ...calls,
    // A page shows what was counted before it was asked for.
    readMetrics: async (asked, signal) => {
      await notes.flush();
      return calls.readMetrics(asked, signal);
    },
  };
  const deps = {
    settings,
    certificates: () => certificates,
    onCertificatesChange: (listener: () => void) => void listeners.push(listener),
    agent,
    metrics: notes,
    log: notes.log,
  };
  try {
    const forever = new AbortController().signal;
    await runApi(deps, (ports) => send({ kind: "listening", ports }), forever);
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    send({ kind: "cannot-listen", address: error.address, message: error.message });
  }
}

// A rejection ends the thread, with its reason. Without await: the one executable runs it as CommonJS.
void runThread(workerData as ApiThreadData);
