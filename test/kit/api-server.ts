// A small server in an API server's place, on loopback.
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import type { KeyPair } from "../../src/model/key-pair.ts";

export interface TestApiServer {
  readonly url: URL;
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** Cuts every connection, as a machine does that dies. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

export type TestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves over TLS when it is given a certificate; clients may show one of theirs, of any authority in `caPem`. */
export async function startApiServer(
  handler: TestHandler,
  tls?: { readonly pair: KeyPair; readonly caPem: string },
): Promise<TestApiServer> {
  const server =
    tls === undefined
      ? createHttp(handler)
      : createHttps(
          {
            cert: tls.pair.certPem,
            key: tls.pair.keyPem,
            ca: tls.caPem,
            requestCert: true,
            rejectUnauthorized: false,
          },
          handler,
        );
  let connections = 0;
  server.on(tls === undefined ? "connection" : "secureConnection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (): void => server.closeAllConnections();
  return {
    url: new URL(`${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`),
    connections: () => connections,
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
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
