import { Agent } from "node:https";
import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from "node:tls";
import { untilAborted } from "../../lib/until-aborted.ts";
import { http1Transport } from "./http1-transport.ts";
import { Http2Connection } from "./http2-connection.ts";
import type { Transport, WireRequest, WireResponse } from "./wire.ts";

const connectMs = 30_000;

/** How to make TLS connections to one server. */
export interface TlsTarget {
  readonly url: URL;
  readonly secureContext: SecureContext;
  readonly rejectUnauthorized: boolean;
  readonly servername?: string | undefined;
  /** For the kernel to ask an idle connection for a sign of life. */
  readonly keepAliveMs: number;
  readonly idleMs: number;
}

/** HTTP/2 where the server speaks it, which costs one connection for all watches, and HTTP/1.1 where not. */
export class NegotiatedTransport implements Transport {
  readonly #target: TlsTarget;
  readonly #connections = new Set<Http2Connection>();
  #connecting: Promise<Http2Connection | Transport> | undefined;
  #older: Transport | undefined;
  #isClosed = false;

  constructor(target: TlsTarget) {
    this.#target = target;
  }

  async open(wire: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    for (;;) {
      if (this.#older !== undefined) return this.#older.open(wire, signal);
      const free = [...this.#connections].find(({ hasRoom }) => hasRoom);
      if (free !== undefined) return free.open(wire, signal);
      // Who waits for another's connection sees then whether there is room.
      if (this.#connecting !== undefined) await untilAborted(this.#connecting, signal);
      else return (await untilAborted(this.#connectOnce(), signal)).open(wire, signal);
    }
  }

  distrust(): void {
    this.#older?.distrust();
    for (const connection of this.#connections) {
      if (connection.isIdle) connection.close();
      else connection.distrust();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#older?.close();
    for (const connection of this.#connections) connection.close();
  }

  #connectOnce(): Promise<Http2Connection | Transport> {
    const connecting = this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    this.#connecting = connecting;
    return connecting;
  }

  async #connect(): Promise<Http2Connection | Transport> {
    const socket = await connectTls(this.#target);
    if (this.#isClosed) {
      socket.destroy();
      throw new Error("the client was closed");
    }
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      this.#older = http1Transport(this.#http1Agent());
      return this.#older;
    }
    const connection: Http2Connection = new Http2Connection(socket, this.#target.url.origin, () => {
      this.#connections.delete(connection);
    });
    this.#connections.add(connection);
    return connection;
  }

  #http1Agent(): Agent {
    const { keepAliveMs, idleMs } = this.#target;
    return new Agent({
      keepAlive: true,
      keepAliveMsecs: keepAliveMs,
      timeout: idleMs,
      ...tlsOptions(this.#target),
    });
  }
}

function tlsOptions({
  secureContext,
  rejectUnauthorized,
  servername,
}: TlsTarget): Pick<ConnectionOptions, "secureContext" | "rejectUnauthorized" | "servername"> {
  return { secureContext, rejectUnauthorized, ...(servername === undefined ? {} : { servername }) };
}

function connectTls(target: TlsTarget): Promise<TLSSocket> {
  const { hostname, port } = target.url;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? 443 : Number(port),
      ALPNProtocols: ["h2", "http/1.1"],
      ...tlsOptions(target),
      servername: target.servername ?? serverNameOf(hostname),
    });
    socket.setKeepAlive(true, target.keepAliveMs);
    socket.setNoDelay(true);
    const late = (): void => {
      socket.destroy(new Error(`no connection within ${connectMs / 1000} s`));
    };
    socket.setTimeout(connectMs, late);
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      socket.off("timeout", late);
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("close", () => reject(new Error("the server closed the connection")));
  });
}

/** An address is not a name that TLS can ask a server for. */
function serverNameOf(hostname: string): string {
  return /^[\d.]+$|^\[/.test(hostname) ? "" : hostname;
}
