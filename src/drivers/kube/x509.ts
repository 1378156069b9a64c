import { createPublicKey, generateKeyPair, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import { promisify } from "node:util";
import { pemText } from "../../lib/pem-blocks.ts";
import type { CertificateTemplate } from "../../model/certificate.ts";
import {
  bits,
  boolean,
  element,
  integer,
  nothing,
  objectId,
  octets,
  sequence,
  setOf,
  text,
  time,
} from "./der.ts";

const generate = promisify(generateKeyPair);

const ids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  extensionRequest: "1.2.840.113549.1.9.14",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  sha256WithEcdsa: "1.2.840.10045.4.3.2",
  sha384WithEcdsa: "1.2.840.10045.4.3.3",
  sha512WithEcdsa: "1.2.840.10045.4.3.4",
  ed25519: "1.3.101.112",
} as const;

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

/** A new key of the kind that nodes have: ECDSA on P-256. */
export async function createKey(): Promise<KeyObject> {
  const { privateKey } = await generate("ec", { namedCurve: "P-256" });
  return privateKey;
}

/** The key as PEM, in the form that kubelets write. */
export function keyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === "rsa" ? "pkcs1" : "sec1";
  return key.export({ format: "pem", type }).toString();
}

/** A signed request for a certificate, as PEM. */
export function createCsr(template: CertificateTemplate, key: KeyObject): string {
  const names = alternativeNames(template);
  const extensions = names === undefined ? [] : [extension(ids.alternativeNames, names)];
  const attributes =
    extensions.length === 0
      ? []
      : [sequence(objectId(ids.extensionRequest), setOf(sequence(...extensions)))];
  return pem("CERTIFICATE REQUEST", request(distinguishedName(template), key, attributes));
}

/** A signed request without a subject: it says no more than that its sender has the key. As DER. */
export function createStubRequest(key: KeyObject): Buffer {
  return request(sequence(), key, []);
}

function request(subject: Buffer, key: KeyObject, attributes: readonly Buffer[]): Buffer {
  const version1 = integer(Buffer.from([0]));
  const info = sequence(version1, subject, publicKeyInfo(key), element(0xa0, ...attributes));
  return signed(info, key);
}

/**
 * A serving certificate for a host, signed by an authority that is made for it alone and whose key is thrown away, as
 * kubelets do. Answers both certificates and the key.
 */
export async function createSelfSigned(
  host: string,
  nowMs: number,
): Promise<{ readonly certPem: string; readonly keyPem: string }> {
  const seconds = Math.floor(nowMs / 1000);
  const validity = sequence(time(nowMs - hourMs), time(nowMs - hourMs + yearMs));
  const authorityKey = await createRsaKey();
  const issuer = distinguishedName(subjectOf(`${host}-ca@${seconds}`));
  const authorityId = randomBytes(20);
  const authority = certificate(
    { issuer, subject: issuer, validity, key: authorityKey, signer: authorityKey },
    [
      extension(ids.keyUsage, bits(Buffer.from([0xa4]), 2), true),
      extension(ids.basicConstraints, sequence(boolean(true)), true),
      extension(ids.subjectKeyId, octets(authorityId)),
    ],
  );
  const key = await createRsaKey();
  const isAddress = isIPv4(host) || host.includes(":");
  const template = {
    ...subjectOf(`${host}@${seconds}`),
    dnsNames: isAddress ? [] : [host],
    ipAddresses: isAddress ? [host] : [],
  };
  const subject = distinguishedName(template);
  const names = alternativeNames(template) ?? sequence();
  const leaf = certificate({ issuer, subject, validity, key, signer: authorityKey }, [
    extension(ids.keyUsage, bits(Buffer.from([0xa0]), 5), true),
    extension(ids.extendedKeyUsage, sequence(objectId(ids.serverAuth))),
    extension(ids.basicConstraints, sequence(), true),
    extension(ids.authorityKeyId, sequence(element(0x80, authorityId))),
    extension(ids.alternativeNames, names),
  ]);
  return { certPem: `${leaf}${authority}`, keyPem: keyPem(key) };
}

async function createRsaKey(): Promise<KeyObject> {
  const { privateKey } = await generate("rsa", { modulusLength: 2048 });
  return privateKey;
}

interface CertificateParts {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly validity: Buffer;
  readonly key: KeyObject;
  readonly signer: KeyObject;
}

function certificate(parts: CertificateParts, extensions: readonly Buffer[]): string {
  const { issuer, subject, validity, key, signer } = parts;
  const version3 = element(0xa0, integer(Buffer.from([2])));
  const body = sequence(
    version3,
    integer(serialNumber()),
    signatureOf(signer).algorithm,
    issuer,
    validity,
    subject,
    publicKeyInfo(key),
    element(0xa3, sequence(...extensions)),
  );
  return pem("CERTIFICATE", signed(body, signer));
}

function serialNumber(): Buffer {
  const bytes = randomBytes(8);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes;
}

function subjectOf(commonName: string): CertificateTemplate {
  return { commonName, organizations: [], dnsNames: [], ipAddresses: [] };
}

function distinguishedName({ commonName, organizations }: CertificateTemplate): Buffer {
  const part = (id: string, value: string): Buffer => sequence(objectId(id), text(value));
  const groups = organizations.map((one) => part(ids.organization, one));
  return sequence(
    ...(groups.length === 0 ? [] : [setOf(...groups)]),
    setOf(part(ids.commonName, commonName)),
  );
}

function alternativeNames({ dnsNames, ipAddresses }: CertificateTemplate): Buffer | undefined {
  if (dnsNames.length === 0 && ipAddresses.length === 0) return undefined;
  return sequence(
    ...dnsNames.map((name) => element(0x82, Buffer.from(name, "ascii"))),
    ...ipAddresses.map((address) => element(0x87, addressBytes(address))),
  );
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const groups = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = groups(tail ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Buffer.from(
    [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]),
  );
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), octets(value));
}

function publicKeyInfo(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: "der", type: "spki" });
}

/** How a key signs: the hash it is used with, and the name of both. */
interface Signature {
  readonly hash: string | null;
  readonly algorithm: Buffer;
}

function signatureOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Signature {
  if (asymmetricKeyType === "rsa") {
    return { hash: "sha256", algorithm: sequence(objectId(ids.sha256WithRsa), nothing()) };
  }
  if (asymmetricKeyType === "ed25519") {
    return { hash: null, algorithm: sequence(objectId(ids.ed25519)) };
  }
  switch (asymmetricKeyDetails?.namedCurve) {
    case "secp384r1":
      return { hash: "sha384", algorithm: sequence(objectId(ids.sha384WithEcdsa)) };
    case "secp521r1":
      return { hash: "sha512", algorithm: sequence(objectId(ids.sha512WithEcdsa)) };
    default:
      return { hash: "sha256", algorithm: sequence(objectId(ids.sha256WithEcdsa)) };
  }
}

function signed(body: Buffer, key: KeyObject): Buffer {
  const { hash, algorithm } = signatureOf(key);
  return sequence(body, algorithm, bits(sign(hash, body, key)));
}

function pem(label: string, der: Buffer): string {
  return pemText(label, der.toString("base64"));
}
