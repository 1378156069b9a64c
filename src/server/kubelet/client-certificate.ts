// Who a client is by its certificate.
import { X509Certificate } from "node:crypto";
import { type DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { User } from "./check-access.ts";
import { readPemCertificates } from "./pem-certificates.ts";

/** The authorities that vouch for clients, as PEM. Another text means other authorities. */
export type ClientAuthorities = () => string | undefined;

/** What is known of a connection's certificate; it was verified when the connection was made. */
interface ShownCertificate {
  readonly user: User | undefined;
  readonly chain: readonly X509Certificate[];
  /** The authorities that it was last verified against. */
  authoritiesPem: string | undefined;
  isTrusted: boolean;
}

/** Returns the user of a connection's certificate, verified again whenever the CA bundle changes. */
export class CertificateReader {
  readonly #authorities: ClientAuthorities;
  readonly #nowMs: () => number;
  readonly #shown = new WeakMap<TLSSocket, ShownCertificate>();

  constructor(authorities: ClientAuthorities, nowMs: () => number) {
    this.#authorities = authorities;
    this.#nowMs = nowMs;
  }

  /** Undefined when none was shown; throws when it counts for nothing. */
  read(socket: unknown): User | undefined {
    const authoritiesPem = this.#authorities();
    if (authoritiesPem === undefined || !(socket instanceof TLSSocket)) return undefined;
    const shown = this.#shown.get(socket) ?? this.#examine(socket, authoritiesPem);
    if (shown.user === undefined) return undefined;
    if (shown.authoritiesPem !== authoritiesPem) {
      shown.isTrusted = isIssuedBy(shown.chain, authoritiesPem);
      shown.authoritiesPem = authoritiesPem;
    }
    const [leaf] = shown.chain;
    const isCurrent = leaf !== undefined && this.#nowMs() <= Date.parse(leaf.validTo);
    if (!shown.isTrusted || !isCurrent) throw new Error("the client's certificate is not trusted");
    return shown.user;
  }

  #examine(socket: TLSSocket, authoritiesPem: string): ShownCertificate {
    const certificate = socket.getPeerCertificate(true);
    const chain = readChain(certificate);
    const user = chain[0] === undefined ? undefined : certificateUser(certificate, chain[0]);
    // Authorities may have changed since the handshake: what it found counts only with those of now.
    const isTrusted = socket.authorized && isIssuedBy(chain, authoritiesPem);
    const shown = { user, chain, authoritiesPem, isTrusted };
    this.#shown.set(socket, shown);
    return shown;
  }
}

/** The certificates that the client sent, its own first. */
function readChain(certificate: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  const seen = new Set<string>();
  for (
    let each: DetailedPeerCertificate | undefined = certificate;
    each?.raw !== undefined && !seen.has(each.fingerprint256);
    each = each.issuerCertificate
  ) {
    seen.add(each.fingerprint256);
    chain.push(new X509Certificate(each.raw));
  }
  return chain;
}

function isIssuedBy(chain: readonly X509Certificate[], authoritiesPem: string): boolean {
  const authorities = readPemCertificates(authoritiesPem);
  const [leaf, ...senders] = chain;
  let current = leaf;
  // Each step goes to another certificate of the chain.
  for (let step = 0; current !== undefined && step < chain.length; step++) {
    const subject: X509Certificate = current;
    if (authorities.some((authority) => isIssuer(authority, subject))) return true;
    current = senders.find((sender) => sender !== subject && isIssuer(sender, subject));
  }
  return false;
}

function isIssuer(issuer: X509Certificate, subject: X509Certificate): boolean {
  return issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
}

/** The common name is the user's, organizations are groups; without a name there is no user. */
function certificateUser(
  { subject }: DetailedPeerCertificate,
  { fingerprint256 }: X509Certificate,
): User | undefined {
  const name = listOf(subject.CN).at(-1) ?? "";
  if (name === "") return undefined;
  const digest = fingerprint256.replaceAll(":", "").toLowerCase();
  return {
    name,
    groups: listOf(subject.O),
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${digest}`] },
  };
}

// The types know only one value of a kind; a certificate may have several.
function listOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? [value] : [];
}
