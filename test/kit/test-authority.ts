// Certificates for tests, made by openssl.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyPair } from "../../src/model/key-pair.ts";

export interface TestAuthority {
  readonly caPem: string;
  /** A folder that is gone after `remove`. */
  readonly folder: string;
  /** A certificate for clients and servers on loopback; the subject, such as /O=system:nodes/CN=a, has no blank. */
  issue(subject: string): KeyPair;
  /** Signs a request with its own extensions; the file of the authority's key serves a control plane, too. */
  sign(csrPem: string, days?: number): string;
  remove(): void;
}

/** A certificate authority of its own. */
export function createTestAuthority(): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), "berth-authority-"));
  const openssl = (command: string): string =>
    execFileSync("openssl", command.split(" "), {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    }).toString();
  const newKey = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  openssl(`${newKey} -x509 -keyout ca.key -out ca.crt -subj /CN=berth-test-ca -days 2`);
  let count = 0;
  const sign = (csrPem: string, days = 1): string => {
    const name = `request-${count++}`;
    writeFileSync(join(folder, `${name}.csr`), csrPem);
    const authority = "-CA ca.crt -CAkey ca.key -CAcreateserial -copy_extensions copy";
    openssl(`x509 -req -in ${name}.csr ${authority} -days ${days} -out ${name}.crt`);
    return readFileSync(join(folder, `${name}.crt`), "utf8");
  };
  return {
    caPem: readFileSync(join(folder, "ca.crt"), "utf8"),
    folder,
    sign,
    issue: (subject) => {
      const name = `pair-${count++}`;
      const names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
      openssl(`${newKey} -keyout ${name}.key -out ${name}.csr -subj ${subject} -addext ${names}`);
      const certPem = sign(readFileSync(join(folder, `${name}.csr`), "utf8"));
      return { certPem, keyPem: readFileSync(join(folder, `${name}.key`), "utf8") };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
