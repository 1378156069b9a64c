import { Agent } from "node:http";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { errorText } from "../../lib/error-text.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ChangingAuthority } from "./changing-authority.ts";
import { http1Transport } from "./http1-transport.ts";
import { NegotiatedTransport } from "./negotiated-transport.ts";
import { readSystemAuthorities } from "./system-authorities.ts";
import type { Transport } from "./wire.ts";

// The kernel asks an idle connection for a sign of life after this time, then once a second, ten times.
const keepAliveMs = 30_000;
// Less than the API server waits before it closes an idle connection, so that no request meets the closing.
const idleMs = 60_000;

/** Where an API server is, and how to know that it is the right one. */
export interface ApiEndpoint {
  readonly url: URL;
  /** The authorities that may vouch for the server; the system's own when undefined. */
  readonly caPem?: string | undefined;
  /** The same where they are in a file: it is looked at before every request. */
  readonly changingCa?: Pick<ChangingAuthority, "current"> | undefined;
  /** The name in the server's certificate where it is not that of the URL. */
  readonly serverName?: string | undefined;
  readonly skipVerification?: boolean | undefined;
}

/** The use of a connection by one request. */
export interface PoolUse {
  readonly transport: Transport;
  /** Aborts when a certificate or authority that the connection was made with has been replaced. */
  readonly replaced: AbortSignal;
  /** To be called once the request is over. */
  readonly release: () => void;
}

interface Generation {
  readonly pair: KeyPair | undefined;
  readonly caPem: string | undefined;
  readonly transport: Transport;
  readonly replaced: AbortController;
  uses: number;
}

/**
 * Connections to one server. With another client certificate, or other authorities, all connections are made again: idle
 * ones are closed at once, the others when what they carry is over.
 */
export class ConnectionPool {
  readonly #endpoint: ApiEndpoint;
  #current: Generation | undefined;

  constructor(endpoint: ApiEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Throws when certificate and key do not form a pair. */
  use(pair: KeyPair | undefined): PoolUse {
    const generation = this.#generationOf(pair);
    generation.uses++;
    let isReleased = false;
    return {
      transport: generation.transport,
      replaced: generation.replaced.signal,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        generation.uses--;
        closeUnused(generation);
      },
    };
  }

  /** After a failure no connection is trusted any more without a sign of life. */
  distrust(): void {
    this.#current?.transport.distrust();
  }

  /** Ends everything. */
  close(): void {
    this.#current?.replaced.abort();
    this.#current?.transport.close();
    this.#current = undefined;
  }

  #generationOf(pair: KeyPair | undefined): Generation {
    const before = this.#current;
    const caPem = this.#endpoint.changingCa?.current() ?? this.#endpoint.caPem;
    const isCurrent = before?.caPem === caPem && isSamePair(before?.pair, pair);
    if (before !== undefined && isCurrent) return before;
    const transport = createTransport({ ...this.#endpoint, caPem }, pair);
    const generation = { pair, caPem, transport, replaced: new AbortController(), uses: 0 };
    this.#current = generation;
    if (before !== undefined) {
      before.replaced.abort();
      closeUnused(before);
    }
    return generation;
  }
}

function closeUnused({ uses, replaced, transport }: Generation): void {
  if (!replaced.signal.aborted) return;
  if (uses === 0) transport.close();
  else transport.distrust();
}

function isSamePair(one: KeyPair | undefined, other: KeyPair | undefined): boolean {
  return one?.certPem === other?.certPem && one?.keyPem === other?.keyPem;
}

function createTransport(
  { url, caPem, skipVerification, serverName }: ApiEndpoint,
  pair: KeyPair | undefined,
): Transport {
  if (url.protocol === "http:") {
    return http1Transport(
      new Agent({ keepAlive: true, keepAliveMsecs: keepAliveMs, timeout: idleMs }),
    );
  }
  const authorities = caPem ?? readSystemAuthorities();
  return new NegotiatedTransport({
    url,
    secureContext: secureContext({
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
    }),
    rejectUnauthorized: skipVerification !== true,
    ...(serverName === undefined ? {} : { servername: serverName }),
    keepAliveMs,
    idleMs,
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
