// The kubelet's servers: HTTPS for those who show who they are, plain HTTP for the read-only and the health port.
import { constants } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import type { Log } from "../../ports/log.ts";
import { ConnectionTable } from "../connection-table.ts";
import { requestSignal } from "../request-signal.ts";
import { RequestTurns } from "../request-turns.ts";
import {
  closeServer,
  type ListenAddress,
  listenOn,
  refuseUnreadable,
  untilStopped,
} from "../tcp-server.ts";
import { sendRefusal } from "./answers.ts";
import type { ApiCertificates, SecureSettings } from "./api-settings.ts";
import { type Connection, createKubeletHandler, type KubeletApi } from "./kubelet-handler.ts";

export interface SecureServerOptions
  extends Pick<SecureSettings, "address" | "ciphers" | "curves" | "minVersion"> {
  readonly certificates: () => ApiCertificates;
  /** Calls back when there are other certificates. */
  readonly onCertificatesChange: (listener: () => void) => void;
}

/** A command of an exec travels in the request line. */
const maxHeaderBytes = 256 * 1024;
/** Of one server, with those that are being refused. */
const maxConnections = 2048;
/** Far fewer than those from which on Node leaves headers out without a word. */
const maxHeaders = 200;
/** Bodies are read by one endpoint, and only some bytes of it. */
const maxBodyBytes = 1024 * 1024;
/** How long a connection without an authorized request may stay idle. */
const strangerIdleMs = 10_000;
const connectionLimits = { maxStrangers: 512, maxStrangersPerAddress: 256 };
const limits = {
  maxHeaderSize: maxHeaderBytes,
  keepAliveTimeout: 90_000,
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
};

/** Serves until `signal` aborts. `onListening` is given the port. */
export async function runSecureServer(
  api: KubeletApi,
  options: SecureServerOptions,
  onListening: (port: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const context = (): SecureContextOptions => {
    const { serving, clientAuthoritiesPem: ca } = options.certificates();
    return {
      cert: serving.certPem,
      key: serving.keyPem,
      minVersion: options.minVersion,
      ciphers: options.ciphers,
      // A resumed session would skip the check of the client's certificate.
      secureOptions: constants.SSL_OP_NO_TICKET,
      ...(options.curves === undefined ? {} : { ecdhCurve: options.curves }),
      ...(ca === undefined ? {} : { ca }),
    };
  };
  const server = createSecureServer({
    ...context(),
    ...limits,
    handshakeTimeout: 10_000,
    requestCert: options.certificates().clientAuthoritiesPem !== undefined,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
  const renew = (): void => {
    try {
      server.setSecureContext(context());
    } catch (error) {
      api.log.error("cannot use the new certificate of the kubelet's API", { error });
    }
  };
  options.onCertificatesChange(renew);
  await runServer(server, api, { address: options.address, onListening }, signal);
}

/** The same over plain HTTP. */
export async function runPlainServer(
  api: KubeletApi,
  address: ListenAddress,
  onListening: (port: number) => void,
  signal: AbortSignal,
): Promise<void> {
  await runServer(createServer(limits), api, { address, onListening }, signal);
}

async function runServer(
  server: Server | SecureServer,
  api: KubeletApi,
  place: { readonly address: ListenAddress; readonly onListening: (port: number) => void },
  signal: AbortSignal,
): Promise<void> {
  const connections = new ConnectionTable(connectionLimits);
  const onKnown = (socket: Socket): void => connections.setKnown(socket);
  const answer = createKubeletHandler({ ...api, onKnown }, signal);
  const turns = new RequestTurns<Connection>(answer, (socket, isBusy) => {
    connections.setBusy(socket, isBusy);
    if (!isBusy && connections.isStranger(socket)) socket.setTimeout(strangerIdleMs);
  });
  server.maxConnections = maxConnections;
  server.on("connection", (socket) => connections.add(socket));
  server.on("request", (request, response) => {
    if (isWithinLimits(request, response)) turns.take({ request, response });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Its answer would stand between those of the requests before it.
    if (turns.isBusy(request.socket)) {
      socket.destroy();
      return;
    }
    const response = responseOn(socket, request, signal);
    if (response === undefined || !isWithinLimits(request, response)) return;
    turns.take({ request, response, upgrade: { socket, head } });
  });
  server.on("clientError", refuseUnreadable);
  await listenOn(server, place.address);
  logErrors(server, api.log);
  try {
    const { port } = server.address() as AddressInfo;
    place.onListening(port);
    await untilStopped(signal);
  } finally {
    await closeServer(server);
  }
}

/** Refuses what no client of the kubelet sends. */
function isWithinLimits(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers, rawHeaders } = request;
  const length = Number(headers["content-length"] ?? 0);
  // What is sent beyond that is not read: the connection ends with the answer.
  if (headers["transfer-encoding"] !== undefined || length > 0) response.shouldKeepAlive = false;
  const status = rawHeaders.length > 2 * maxHeaders ? 431 : length > maxBodyBytes ? 413 : undefined;
  if (status === undefined) return true;
  sendRefusal(response, status, STATUS_CODES[status] ?? "", { Connection: "close" });
  return false;
}

/** Many requests that ask for another protocol are answered like any other, and then the connection ends. */
function responseOn(
  socket: Duplex,
  request: IncomingMessage,
  stopping: AbortSignal,
): ServerResponse | undefined {
  socket.on("error", () => socket.destroy());
  requestSignal(stopping, [socket]).addEventListener("abort", () => socket.destroy());
  if (!(socket instanceof Socket)) {
    socket.destroy();
    return undefined;
  }
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("finish", () => socket.end());
  return response;
}

function logErrors(server: Server | SecureServer, log: Log): void {
  server.on("error", (error: Error) => log.error("the kubelet's API failed", { error }));
}
