import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { openSpdy } from "../app/open-spdy.ts";
import type { AgentClient } from "../cli/agent-client.ts";
import type { Pod } from "../model/pod.ts";
import { untilDrained } from "../server/until-drained.ts";
import type { ForwardOptions, PortForward } from "./api.ts";
import { BerthError } from "./berth-error.ts";
import type { PodPlace } from "./wait-for-pod.ts";

const protocol = "portforward.k8s.io";
const host = "127.0.0.1";

export async function forwardPort(
  { client, namespace, name }: PodPlace,
  podPort: number,
  options: ForwardOptions,
): Promise<PortForward> {
  requirePort("podPort", podPort, 1);
  const { localPort = 0, onError, signal } = options;
  requirePort("localPort", localPort, 0);
  signal?.throwIfAborted();
  const closing = new AbortController();
  const pod = await client.readPod(namespace, name, signal ?? closing.signal);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    forwardConnection(client, pod, { podPort, socket }, closing.signal).catch((error: unknown) => {
      socket.destroy();
      if (closing.signal.aborted) return;
      const message = `port ${podPort} of pod ${pod.metadata.name}: ${String(error)}`;
      onError?.(new BerthError("failed", message, { cause: error }));
    });
  });
  await listen(server, localPort);
  const close = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    closing.abort();
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  signal?.addEventListener("abort", () => void close(), { once: true });
  if (signal?.aborted === true) {
    await close();
    throw signal.reason;
  }
  // A server on a port has an address with a port.
  const { port } = server.address() as AddressInfo;
  const address = `${host}:${port}`;
  return { localPort: port, podPort, address, close, [Symbol.asyncDispose]: close };
}

async function listen(server: Server, port: number): Promise<void> {
  const listening = once(server, "listening");
  server.listen(port, host);
  try {
    await listening;
  } catch (error) {
    throw new BerthError("failed", `localPort: cannot listen on ${host}:${port}: ${String(error)}`);
  }
}

function requirePort(option: string, port: number, least: number): void {
  if (Number.isInteger(port) && port >= least && port < 65_536) return;
  throw new BerthError("invalid-options", `${option}: ${String(port)} is not a port`);
}

interface Forwarded {
  readonly podPort: number;
  readonly socket: Socket;
}

/** One connection to the pod for each to the local port. */
async function forwardConnection(
  client: AgentClient,
  pod: Pod,
  { podPort, socket }: Forwarded,
  signal: AbortSignal,
): Promise<void> {
  const query = { ports: String(podPort) };
  const { connection, head } = await client.upgrade(
    pod,
    { what: "portforward", query, protocol },
    signal,
  );
  using spdy = openSpdy(connection, head);
  signal.addEventListener("abort", () => connection.destroy(), { once: true });
  const headers = { port: String(podPort), requestID: "0" };
  const problem: Buffer[] = [];
  const errors = await spdy.open({ ...headers, streamType: "error" }, (data) => {
    problem.push(data);
  });
  await errors.finish();
  const data = await spdy.open({ ...headers, streamType: "data" }, async (chunk) => {
    if (!socket.destroyed && !socket.write(chunk)) await untilDrained(socket);
  });
  const sent = send(socket, data);
  // The runtime ends both when the pod has closed the connection, or could not be reached.
  await Promise.all([data.ended, errors.ended]);
  const text = Buffer.concat(problem).toString();
  if (text === "") socket.destroySoon();
  else socket.destroy();
  await sent;
  if (text !== "") throw new Error(text);
}

async function send(
  socket: Socket,
  target: { write(data: Uint8Array): Promise<void>; finish(): Promise<void> },
): Promise<void> {
  try {
    for await (const chunk of socket) await target.write(Buffer.from(chunk));
  } catch {
    // The local end broke off: nothing more is sent to the pod.
  }
  await target.finish();
}
