// The process of a node that belongs to another program: runs the agent until that program asks for the end, or is gone.
import { once, setMaxListeners } from "node:events";
import { runDown } from "../app/down.ts";
import type { FromNode, NodeOrder, ToNode } from "../app/node-order.ts";
import { createProcessLog } from "../app/process-log.ts";
import { removeDataDir } from "../app/remove-data-dir.ts";
import { runSim } from "../app/sim.ts";
import { runUp } from "../app/up.ts";
import { parseUp } from "../app/up-options.ts";
import { forbidDebugger, ignoreDebuggerSignal } from "../cli/no-debugger.ts";
import { errorText } from "../lib/error-text.ts";
import type { Log } from "../ports/log.ts";

ignoreDebuggerSignal();
// The end of the agent is one signal that every call and timer listens to.
setMaxListeners(0);

const stopping = new AbortController();
let isRemovalAsked = false;

process.on("message", (message: ToNode) => {
  if (message.kind !== "stop") return;
  isRemovalAsked ||= message.remove;
  stopping.abort();
});
// The program has ended, perhaps without having asked for anything.
process.on("disconnect", () => stopping.abort());
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stopping.abort());
}

void main();

type Outcome = Omit<Extract<FromNode, { kind: "ended" }>, "kind">;

async function main(): Promise<void> {
  const [first] = await once(process, "message");
  const message = first as ToNode;
  const outcome =
    message.kind === "start"
      ? await live(message.order)
      : { problem: undefined, hasRemoved: false };
  const farewell: FromNode = { kind: "ended", ...outcome };
  if (process.connected) process.send?.(farewell, () => process.exit());
  else process.exit();
}

async function live(order: NodeOrder): Promise<Outcome> {
  const log = createProcessLog({ level: order.logLevel, format: "json" });
  const problems: string[] = [];
  const attempt = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      problems.push(errorText(error));
    }
  };
  if (order.isRemovalOnly !== true) await attempt(() => runNode(order, log));
  const hasRemoved = isRemovalAsked || order.isTemporary || order.isRemovalOnly === true;
  if (hasRemoved) await attempt(() => removeNode(order, log));
  return { problem: problems.length === 0 ? undefined : problems.join("; then "), hasRemoved };
}

async function runNode({ node }: NodeOrder, log: Log): Promise<void> {
  await forbidDebugger(log);
  const ready: FromNode = { kind: "ready" };
  const onReady = (): void => void (process.connected && process.send?.(ready));
  if (node.kind === "simulated") {
    const options = { ...node, manifests: [node.manifests] };
    return runSim(options, log, onReady, stopping.signal);
  }
  const setup = parseUp({ ...node, downOnExit: false });
  if (!setup.ok) throw new Error(setup.error);
  // Stopped before it was started.
  if (stopping.signal.aborted) return;
  await runUp(setup.value, log, onReady, stopping.signal).catch((error: unknown) => {
    // What the end interrupted is not what was wrong.
    if (!stopping.signal.aborted) throw error;
  });
}

/** All that is on the machine because of this node; what a program gave a data folder of its own stays its own but for that. */
async function removeNode({ node, isTemporary }: NodeOrder, log: Log): Promise<void> {
  await removeDataDir(node.manifests);
  // Who may not start a node has nothing to remove.
  if (node.kind === "real" && process.getuid?.() === 0)
    await runDown(node.dataDir, log, { removeVolumes: true });
  if (isTemporary) await removeDataDir(node.dataDir);
}
