import type { X509Certificate } from "node:crypto";
import { parseIpAddress } from "../../lib/ip-address.ts";
import type { CertificateTemplate, StoredCertificate } from "../../model/certificate.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import { checkKeyPair, parseCertificates } from "./key-pair-files.ts";

/** A pair with what its first certificate says. Throws when the two do not belong together. */
export function describePair(pair: KeyPair): StoredCertificate {
  checkKeyPair(pair);
  const [leaf] = parseCertificates(pair.certPem);
  if (leaf === undefined) throw new Error("there is no certificate in it");
  return {
    ...pair,
    subject: subjectOf(leaf),
    notBeforeMs: Date.parse(leaf.validFrom),
    notAfterMs: Date.parse(leaf.validTo),
  };
}

function subjectOf(certificate: X509Certificate): CertificateTemplate {
  const { CN: commonNames = [], O: organizations = [] } = legacySubject(certificate);
  const names = (certificate.subjectAltName ?? "").split(", ").map((name) => name.split(":"));
  const listed = (kind: string): readonly string[] =>
    names.filter(([prefix]) => prefix === kind).map(([, ...rest]) => rest.join(":"));
  return {
    commonName: commonNames[0] ?? "",
    organizations,
    dnsNames: listed("DNS"),
    ipAddresses: listed("IP Address").flatMap((address) => parseIpAddress(address)?.text ?? []),
  };
}

function legacySubject(
  certificate: X509Certificate,
): Readonly<Record<string, readonly string[] | undefined>> {
  const { subject } = certificate.toLegacyObject();
  const entries = Object.entries(subject as unknown as Record<string, string | string[]>);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Array.isArray(value) ? value : [value]]),
  );
}
