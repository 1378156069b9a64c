import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Whom a certificate is for. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** Addresses and names that a server is reached by. */
  readonly addresses?: readonly string[];
  readonly names?: readonly string[];
}

export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Makes certificates below one authority, in a folder. */
export class CertificateAuthority {
  readonly #folder: string;
  readonly files: CertificateFiles;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.files = this.#create(name, { commonName: name }, [
      "basicConstraints = critical, CA:TRUE",
      "keyUsage = critical, digitalSignature, keyCertSign, cRLSign",
      "subjectKeyIdentifier = hash",
    ]);
  }

  /** A certificate for servers and clients; `name` is that of its files. */
  issue(name: string, subject: CertificateSubject): CertificateFiles {
    const names = [
      ...(subject.addresses ?? []).map((address) => `IP:${address}`),
      ...(subject.names ?? []).map((host) => `DNS:${host}`),
    ];
    const extensions = [
      "basicConstraints = critical, CA:FALSE",
      "keyUsage = critical, digitalSignature",
      "extendedKeyUsage = serverAuth, clientAuth",
      ...(names.length === 0 ? [] : [`subjectAltName = ${names.join(", ")}`]),
    ];
    const { certificate, key } = this.files;
    return this.#create(name, subject, extensions, ["-CA", certificate, "-CAkey", key]);
  }

  #create(
    name: string,
    { commonName, organizations = [] }: CertificateSubject,
    extensions: readonly string[],
    signer: readonly string[] = [],
  ): CertificateFiles {
    const [config, certificate, key] = ["cnf", "crt", "key"].map((ending) =>
      join(this.#folder, `${name}.${ending}`),
    ) as [string, string, string];
    const settings = [
      "[req]",
      "prompt = no",
      "distinguished_name = subject",
      "x509_extensions = extensions",
      "[subject]",
      ...organizations.map((value, index) => `${index}.O = ${value}`),
      `CN = ${commonName}`,
      "[extensions]",
      ...extensions,
    ];
    writeFileSync(config, `${settings.join("\n")}\n`);
    const keyFlags = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const output = ["-keyout", key, "-out", certificate];
    execFileSync(
      "openssl",
      ["req", "-x509", "-config", config, "-days", "2", ...keyFlags, ...signer, ...output],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    return { certificate, key };
  }
}

/** The keys that service account tokens are signed and checked with. */
export function createTokenKeys(folder: string): {
  readonly private: string;
  readonly public: string;
} {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const files = { private: join(folder, "tokens.key"), public: join(folder, "tokens.pub") };
  writeFileSync(files.private, pair.privateKey.export({ type: "sec1", format: "pem" }));
  writeFileSync(files.public, pair.publicKey.export({ type: "spki", format: "pem" }));
  return files;
}
