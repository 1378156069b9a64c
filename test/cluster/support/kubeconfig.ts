import { readFileSync, writeFileSync } from "node:fs";
import type { CertificateFiles } from "./certificates.ts";

/** How a client shows who it is. */
export type KubeconfigUser =
  | { readonly kind: "certificate"; readonly files: CertificateFiles }
  | { readonly kind: "token"; readonly token: string };

interface KubeconfigContent {
  readonly server: string;
  /** The file of the authority that the server's certificate is checked with. */
  readonly authority: string;
  readonly user: KubeconfigUser;
}

/** Writes a kubeconfig that holds all it needs. */
export function writeKubeconfig(file: string, content: KubeconfigContent): string {
  const { server, authority, user } = content;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "test", cluster: { server, "certificate-authority-data": encode(authority) } },
    ],
    users: [{ name: "test", user: userFields(user) }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  };
  writeFileSync(file, JSON.stringify(config, null, 1), { mode: 0o600 });
  return file;
}

function userFields(user: KubeconfigUser): object {
  if (user.kind === "token") return { token: user.token };
  return {
    "client-certificate-data": encode(user.files.certificate),
    "client-key-data": encode(user.files.key),
  };
}

function encode(file: string): string {
  return readFileSync(file).toString("base64");
}
