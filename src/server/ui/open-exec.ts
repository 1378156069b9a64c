// Asks the agent's local API to run a command in a container, in the way of `berth exec`.
import { type IncomingMessage, request as sendRequest } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { parseJsonText } from "../../lib/json-text.ts";
import type { Status } from "../../model/generated/kubernetes.ts";

export interface ExecTarget {
  readonly agentSocket: string;
  readonly namespace: string;
  readonly pod: string;
  /** Empty = the only one that the pod has. */
  readonly container: string;
  readonly command: readonly string[];
}

/** A connection that speaks SPDY from now on. */
interface ExecConnection {
  readonly connection: Duplex;
  readonly head: Buffer;
}

/** Long enough for what an agent refuses with. */
const maxRefusalLength = 64 * 1024;

/** Rejects with the agent's own words. A command with a terminal is given input, too. */
export function openExec(
  { agentSocket, namespace, pod, container, command }: ExecTarget,
  { hasTerminal }: { readonly hasTerminal: boolean },
  signal: AbortSignal,
): Promise<ExecConnection> {
  const query = new URLSearchParams([
    ["container", container],
    ["stdin", String(hasTerminal)],
    ["stdout", "true"],
    ["tty", String(hasTerminal)],
    ...command.map((argument): [string, string] => ["command", argument]),
  ]);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query.toString()}`;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const asked = sendRequest({
      createConnection: () => connect(agentSocket),
      method: "POST",
      path,
      headers: {
        Host: "localhost",
        Connection: "Upgrade",
        Upgrade: "SPDY/3.1",
        "X-Stream-Protocol-Version": "v4.channel.k8s.io",
      },
    });
    const cancel = (): void => void asked.destroy();
    signal.addEventListener("abort", cancel, { once: true });
    asked.on("upgrade", (_, connection, head) => {
      signal.removeEventListener("abort", cancel);
      resolve({ connection, head });
    });
    asked.on("response", (answer) => void readRefusal(answer).then(reject, reject));
    asked.on("error", () => reject(new Error("the agent does not answer")));
    asked.end();
  });
}

async function readRefusal(answer: IncomingMessage): Promise<Error> {
  let text = "";
  for await (const chunk of answer) {
    text += String(chunk);
    if (text.length > maxRefusalLength) break;
  }
  const { message = `the agent answered HTTP ${answer.statusCode}` } = parseJsonText(
    text,
  ) as Status;
  return new Error(message);
}
