import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { errorText } from "../../lib/error-text.ts";
import type { KeyPair } from "../../model/key-pair.ts";

// The kernel asks an idle connection for a sign of life after this time, then once a second, ten times.
const keepAliveMs = 30_000;
// Less than the API server waits before it closes an idle connection, so that no request meets the closing.
const idleMs = 60_000;

/** Where an API server is, and how to know that it is the right one. */
export interface ApiEndpoint {
  readonly url: URL;
  /** The authorities that may vouch for the server; the system's own when undefined. */
  readonly caPem?: string | undefined;
  /** The name in the server's certificate where it is not that of the URL. */
  readonly serverName?: string | undefined;
  readonly skipVerification?: boolean | undefined;
}

/** The use of a connection by one request. */
export interface PoolUse {
  readonly agent: HttpAgent;
  /** Aborts when the certificate that the connection was made with has been replaced. */
  readonly replaced: AbortSignal;
  /** To be called once the request is over. */
  readonly release: () => void;
}

interface Generation {
  readonly pair: KeyPair | undefined;
  readonly agent: HttpAgent;
  readonly replaced: AbortController;
  uses: number;
}

/**
 * Connections to one server. With another client certificate all connections are made anew: idle ones are closed at
 * once, the others when what they carry is over.
 */
export class ConnectionPool {
  readonly #endpoint: ApiEndpoint;
  #current: Generation | undefined;

  constructor(endpoint: ApiEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Throws when the pair is none. */
  use(pair: KeyPair | undefined): PoolUse {
    const generation = this.#generationOf(pair);
    generation.uses++;
    let isReleased = false;
    return {
      agent: generation.agent,
      replaced: generation.replaced.signal,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        generation.uses--;
        closeUnused(generation);
      },
    };
  }

  /** After a failure no idle connection is trusted any more. */
  closeIdle(): void {
    if (this.#current !== undefined) closeFree(this.#current.agent);
  }

  /** Ends everything. */
  close(): void {
    this.#current?.replaced.abort();
    this.#current?.agent.destroy();
    this.#current = undefined;
  }

  #generationOf(pair: KeyPair | undefined): Generation {
    const before = this.#current;
    if (before !== undefined && isSamePair(before.pair, pair)) return before;
    const agent = createAgent(this.#endpoint, pair);
    const generation = { pair, agent, replaced: new AbortController(), uses: 0 };
    this.#current = generation;
    if (before !== undefined) {
      before.replaced.abort();
      closeFree(before.agent);
      closeUnused(before);
    }
    return generation;
  }
}

function closeUnused({ uses, replaced, agent }: Generation): void {
  if (uses === 0 && replaced.signal.aborted) agent.destroy();
}

function closeFree(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

function isSamePair(one: KeyPair | undefined, other: KeyPair | undefined): boolean {
  return one?.certPem === other?.certPem && one?.keyPem === other?.keyPem;
}

function createAgent(endpoint: ApiEndpoint, pair: KeyPair | undefined): HttpAgent {
  const options = { keepAlive: true, keepAliveMsecs: keepAliveMs, timeout: idleMs };
  if (endpoint.url.protocol === "http:") return new HttpAgent(options);
  const secrets: SecureContextOptions = {
    ...(endpoint.caPem === undefined ? {} : { ca: endpoint.caPem }),
    ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
  };
  return new HttpsAgent({
    ...options,
    secureContext: secureContext(secrets),
    rejectUnauthorized: endpoint.skipVerification !== true,
    ...(endpoint.serverName === undefined ? {} : { servername: endpoint.serverName }),
  });
}

function secureContext(secrets: SecureContextOptions): ReturnType<typeof createSecureContext> {
  try {
    return createSecureContext(secrets);
  } catch (error) {
    const what = secrets.cert === undefined ? "certificate authority" : "client certificate or key";
    throw new Error(`the ${what} cannot be used (${errorText(error)})`, { cause: error });
  }
}
