import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { ClusterApi } from "../cluster/support/cluster-api.ts";

interface Kubeconfig {
  readonly "current-context": string;
  readonly contexts: readonly { name: string; context: { cluster: string; user: string } }[];
  readonly clusters: readonly { name: string; cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { name: string; user: Readonly<Record<string, string>> }[];
}

/** A client of the cluster of a kubeconfig that shows who it is by certificate. */
export function connectCluster(file: string): ClusterApi {
  const config = parse(readFileSync(file, "utf8")) as Kubeconfig;
  const context = config.contexts.find(({ name }) => name === config["current-context"])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  const take = (fields: typeof cluster, name: string): string => {
    const path = fields?.[name];
    if (path !== undefined) return path;
    const data = fields?.[`${name}-data`];
    if (data === undefined) throw new Error(`--kubeconfig ${file} has no ${name}`);
    const copy = join(folder, name);
    writeFileSync(copy, Buffer.from(data, "base64"), { mode: 0o600 });
    return copy;
  };
  const files = {
    certificate: take(user, "client-certificate"),
    key: take(user, "client-key"),
  };
  return new ClusterApi(cluster?.["server"] ?? "", take(cluster, "certificate-authority"), files);
}
