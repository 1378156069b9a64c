// TLS settings of the kubelet's configuration, in OpenSSL's words.
import type { SecureVersion } from "node:tls";

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

/** tlsMinVersion; TLS 1.2 by default. */
export function minTlsVersion(name: string): SecureVersion {
  return versions[name] ?? "TLSv1.2";
}

const strongSuites = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
];

/** tlsCipherSuites as OpenSSL names them; those of TLS 1.3 cannot be chosen, as in Go. */
export function cipherList(names: readonly string[]): string {
  const chosen = names.flatMap((name) => opensslSuite(name) ?? []);
  return (chosen.length === 0 ? strongSuites : chosen).join(":");
}

function opensslSuite(name: string): string | undefined {
  const [, exchange = ""] = /^TLS_(.+)_WITH_./.exec(name) ?? [];
  if (exchange === "") return undefined;
  const suite = name.slice(`TLS_${exchange}_WITH_`.length);
  const hash = /._(SHA\d*)$/.exec(suite)?.[1];
  const cipher = hash === undefined ? suite : suite.slice(0, -hash.length - 1);
  const prefix = exchange === "RSA" ? "" : `${exchange.replace("_", "-")}-`;
  if (cipher === "CHACHA20_POLY1305") return `${prefix}CHACHA20-POLY1305`;
  if (cipher === "3DES_EDE_CBC") return `${prefix}DES-CBC3-SHA`;
  const [, bits, mode] = /^AES_(\d+)_(GCM|CBC)$/.exec(cipher) ?? [];
  if (bits === undefined || hash === undefined) return undefined;
  return `${prefix}AES${bits}-${mode === "GCM" ? "GCM-" : ""}${hash}`;
}

const curves: Readonly<Record<number, string>> = {
  23: "prime256v1",
  24: "secp384r1",
  25: "secp521r1",
  29: "X25519",
};

/** tlsCurvePreferences by their numbers; undefined = OpenSSL's own choice. */
export function curveList(ids: readonly number[]): string | undefined {
  const chosen = ids.flatMap((id) => curves[id] ?? []);
  return chosen.length === 0 ? undefined : chosen.join(":");
}
