import { parseIpAddress } from "../../lib/ip-address.ts";
import type { CertificateTemplate, StoredCertificate } from "../../model/certificate.ts";
import type { NodeAddress } from "../../model/generated/kubernetes.ts";

/** When to ask for the next certificate: at 70 to 90 % of this one's life, so that not all nodes ask at once. */
export function rotationTimeMs(
  { notBeforeMs, notAfterMs }: Pick<StoredCertificate, "notBeforeMs" | "notAfterMs">,
  random: number,
): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * random);
}

/** Whether a certificate has all that is wanted; it may have more. */
export function hasSubject(subject: CertificateTemplate, wanted: CertificateTemplate): boolean {
  return (
    subject.commonName === wanted.commonName &&
    hasAll(subject.organizations, wanted.organizations) &&
    hasAll(subject.dnsNames, wanted.dnsNames) &&
    hasAll(subject.ipAddresses, wanted.ipAddresses)
  );
}

function hasAll(present: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((one) => present.includes(one));
}

/** The subject of a node's client certificate. */
export function nodeSubject(nodeName: string): CertificateTemplate {
  return {
    commonName: `system:node:${nodeName}`,
    organizations: ["system:nodes"],
    dnsNames: [],
    ipAddresses: [],
  };
}

/** The subject of a node's serving certificate; undefined as long as the node has no IP address. */
export function servingSubject(
  nodeName: string,
  addresses: readonly NodeAddress[],
): CertificateTemplate | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === "") continue;
    const ip = parseIpAddress(address)?.text;
    const isName = type === "InternalDNS" || type === "ExternalDNS";
    const isHost = type === "Hostname";
    if (isName || (isHost && ip === undefined)) dnsNames.add(address);
    else if (ip !== undefined && (isHost || type === "InternalIP" || type === "ExternalIP")) {
      ipAddresses.add(ip);
    }
  }
  if (ipAddresses.size === 0) return undefined;
  return {
    ...nodeSubject(nodeName),
    dnsNames: [...dnsNames].toSorted(),
    ipAddresses: [...ipAddresses].toSorted(),
  };
}
