// A WebSocket of the newest protocol, for a runtime that only speaks SPDY: each knows the other's streams by name.
import type { Duplex } from "node:stream";
import { SpdyConnection, type SpdyStream } from "../spdy/connection.ts";
import { dialRuntime, UpgradeRefused, type UpgradeRequest } from "../stream-proxy.ts";
import { untilDrained } from "../until-drained.ts";
import { isHandshake, offeredProtocols, WebSocketConnection } from "../websocket/connection.ts";
import type { StreamOptions } from "./stream-options.ts";

const commandProtocol = "v5.channel.k8s.io";
const runtimeCommandProtocol = "v4.channel.k8s.io";
const tunnelPrefix = "SPDY/3.1+";

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export interface TranslationOptions {
  readonly idleMs: number;
  /** Called as soon as the client is answered over the WebSocket. */
  readonly onUpgrade: () => void;
}

/** Whether a client wants streams that can be closed one by one. */
export function wantsStreamClose({ headers }: UpgradeRequest["request"]): boolean {
  return offeredProtocols(headers).includes(commandProtocol);
}

/** The tunnel's protocol that a client wants, such as SPDY/3.1+portforward.k8s.io. */
export function wantedTunnel({ headers }: UpgradeRequest["request"]): string | undefined {
  return offeredProtocols(headers).find(
    (protocol) => protocol.startsWith(tunnelPrefix) && protocol.endsWith(".k8s.io"),
  );
}

/** Serves an exec or attach; resolves when it flows. */
export async function translateStreams(
  url: URL,
  upgrade: UpgradeRequest,
  streams: StreamOptions,
  options: TranslationOptions,
): Promise<void> {
  const runtime = await dial(url, runtimeCommandProtocol, upgrade);
  const client = accept(upgrade, commandProtocol, runtime.connection, options);
  const spdy = new SpdyConnection(runtime.connection, runtime.rest);
  void runTranslation(client, spdy, streams).finally(() => {
    spdy[Symbol.dispose]();
    client.close();
  });
}

/** Carries a client's SPDY within its WebSocket; resolves when it flows. */
export async function tunnelStreams(
  url: URL,
  upgrade: UpgradeRequest,
  protocol: string,
  options: TranslationOptions,
): Promise<void> {
  const runtime = await dial(url, protocol.slice(tunnelPrefix.length), upgrade);
  const { connection, rest } = runtime;
  const client = accept(upgrade, protocol, connection, options);
  if (rest.length > 0) connection.unshift(rest);
  const toRuntime = client.read(async (data) => {
    if (!connection.write(data)) await untilDrained(connection);
  });
  const toClient = (async () => {
    for await (const chunk of connection) await client.send(Buffer.from(chunk));
  })();
  void toRuntime.finally(() => connection.destroy());
  void toClient.catch(() => undefined).finally(() => client.close());
}

function dial(url: URL, protocol: string, { request, signal }: UpgradeRequest) {
  if (!isHandshake(request.headers)) {
    throw new UpgradeRefused("the request does not ask for a WebSocket as it has to", 400);
  }
  const wanted = { Connection: "Upgrade", Upgrade: "SPDY/3.1" };
  const headers = [...Object.entries(wanted).flat(), "X-Stream-Protocol-Version", protocol];
  return dialRuntime(url, { method: "POST", headers }, signal);
}

function accept(
  { request, socket, head }: UpgradeRequest,
  protocol: string,
  connection: Duplex,
  { idleMs, onUpgrade }: TranslationOptions,
): WebSocketConnection {
  onUpgrade();
  connection.on("error", () => connection.destroy());
  socket.on("close", () => connection.destroy());
  request.socket.setTimeout(idleMs, () => socket.destroy());
  return WebSocketConnection.accept(request.headers, protocol, { socket, head });
}

async function runTranslation(
  client: WebSocketConnection,
  spdy: SpdyConnection,
  { stdin, stdout, stderr, tty }: StreamOptions,
): Promise<void> {
  let hasStatus = false;
  const open = (name: "error" | "stdin" | "stdout" | "stderr" | "resize"): Promise<SpdyStream> =>
    spdy.open({ streamType: name }, (data) => {
      hasStatus ||= name === "error";
      return client.send(Buffer.concat([Buffer.from([channels[name]]), data]));
    });
  // An empty message says that the connection stands.
  const first = stdout ? channels.stdout : stderr ? channels.stderr : channels.error;
  await client.send(Buffer.from([first]));
  const outputs = [await open("error")];
  const input = stdin ? await open("stdin") : undefined;
  if (stdout) outputs.push(await open("stdout"));
  if (stderr && !tty) outputs.push(await open("stderr"));
  const sizes = tty ? await open("resize") : undefined;
  const reading = client.read(async (message) => {
    const [channel, closed] = message;
    const data = message.subarray(1);
    if (channel === channels.stdin) await input?.write(data);
    else if (channel === channels.resize) await sizes?.write(data);
    else if (channel === channels.close && closed === channels.stdin) await input?.finish();
  });
  await Promise.race([reading, Promise.all(outputs.map((stream) => stream.ended))]);
  // Sent in vain to a client that has gone.
  if (!hasStatus) await client.send(Buffer.concat([Buffer.from([channels.error]), brokenOff]));
}

/** The error a client gets when the runtime's connection closed before the command ended. */
const brokenOff = Buffer.from(
  JSON.stringify({
    metadata: {},
    status: "Failure",
    message: "Internal error occurred: the runtime ended the connection",
    reason: "InternalError",
    code: 500,
  }),
);
