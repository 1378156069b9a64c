import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KubeCluster } from "./kubeconfig.ts";

/** Writes a kubeconfig for a cluster with the certificate and key that one file has, as kubelets do. */
export async function writeKubeconfig(
  path: string,
  { server, authority, skipVerification }: KubeCluster,
  pemFile: string,
): Promise<void> {
  const lines = [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    ...(authority?.kind === "data"
      ? [`    certificate-authority-data: ${Buffer.from(authority.pem).toString("base64")}`]
      : []),
    ...(authority?.kind === "file"
      ? [`    certificate-authority: ${JSON.stringify(authority.path)}`]
      : []),
    ...(skipVerification ? ["    insecure-skip-tls-verify: true"] : []),
    `    server: ${JSON.stringify(server)}`,
    "  name: default-cluster",
    "contexts:",
    "- context:",
    "    cluster: default-cluster",
    "    namespace: default",
    "    user: default-auth",
    "  name: default-context",
    "current-context: default-context",
    "kind: Config",
    "users:",
    "- name: default-auth",
    "  user:",
    `    client-certificate: ${JSON.stringify(pemFile)}`,
    `    client-key: ${JSON.stringify(pemFile)}`,
  ];
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const beside = `${path}.tmp`;
  await writeFile(beside, `${lines.join("\n")}\n`, { mode: 0o600 });
  await rename(beside, path);
}
