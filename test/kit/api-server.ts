// A small server in an API server's place, on loopback.
import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { KeyPair } from "../../src/model/key-pair.ts";

export interface TestApiServer {
  readonly url: URL;
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** Cuts every connection, as a machine does that dies. */
  readonly cut: () => void;
  /** Sends GOAWAY to HTTP/2 clients, and completes what they have begun. */
  readonly goAway: () => void;
  readonly close: () => Promise<void>;
}

export type TestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface TestServerTls {
  readonly pair: KeyPair;
  /** Clients may show a certificate of this authority. */
  readonly caPem: string;
  /** HTTP/1.1 alone; HTTP/2 is offered as well otherwise. */
  readonly isOld?: boolean;
  /** How many exchanges one connection of HTTP/2 may carry at once. */
  readonly maxStreams?: number;
}

/** Serves over TLS when it is given a certificate, and in plain HTTP/1.1 when not. */
export async function startApiServer(
  handler: TestHandler,
  tls?: TestServerTls,
): Promise<TestApiServer> {
  const server = tls === undefined ? createHttp(handler) : createTlsServer(handler, tls);
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve());
  });
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: new URL(`${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`),
    connections: () => connections,
    cut,
    goAway: () => {
      for (const session of sessions) session.close();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

function createTlsServer(
  handler: TestHandler,
  { pair, caPem, isOld = false, maxStreams = 250 }: TestServerTls,
): Server | Http2SecureServer {
  const options = {
    cert: pair.certPem,
    key: pair.keyPem,
    ca: caPem,
    requestCert: true,
    rejectUnauthorized: false,
  };
  if (isOld) return createHttps(options, handler);
  const server = createSecureServer({
    ...options,
    allowHTTP1: true,
    settings: { maxConcurrentStreams: maxStreams },
  });
  // What a handler here uses is the same in both versions of HTTP.
  server.on("request", handler as unknown as () => void);
  return server;
}

/** Answers with an object. */
export function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}

/** The common name of the certificate that the client showed. */
export function clientName({ socket }: IncomingMessage): string | undefined {
  const name = (socket as TLSSocket).getPeerCertificate()?.subject?.CN;
  return Array.isArray(name) ? name[0] : name;
}
