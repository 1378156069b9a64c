import { readFileSync } from "node:fs";

// Where the distributions keep what the administrator of a machine trusts; Node has a list of its own instead.
const files = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** The authorities that this machine trusts; undefined when it has none of its own. */
export function readSystemAuthorities(): string | undefined {
  const given = process.env["SSL_CERT_FILE"] ?? "";
  for (const file of given === "" ? files : [given]) {
    try {
      return readFileSync(file, "utf8");
    } catch {
      // The next one, then.
    }
  }
  return undefined;
}
