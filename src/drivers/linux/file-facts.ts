import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import type { FileFact } from "../../model/file-fact.ts";

// Where systemd looks for units.
const UNIT_FOLDERS = [
  "etc/systemd/system",
  "run/systemd/system",
  "usr/local/lib/systemd/system",
  "usr/lib/systemd/system",
];
const UNITS = ["kubelet.service", "berth-kubelet.service"];
// There is no one place for it; these are those of kubeadm, of distributions and of the benchmark.
const PROXY_KUBECONFIGS = [
  "etc/kubernetes/kube-proxy.conf",
  "etc/kubernetes/kube-proxy.kubeconfig",
  "etc/kubernetes/proxy.conf",
  "var/lib/kube-proxy/kubeconfig",
  "var/lib/kube-proxy/kubeconfig.conf",
];

/** Who owns a file, and what others may do with it. */
export function lookAtFile(path: string): FileFact {
  try {
    const { mode, uid, gid } = statSync(path);
    return { path, seen: { kind: "file", mode: mode & 0o7777, uid, gid } };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") {
      return { path, seen: { kind: "missing" } };
    }
    return { path, seen: { kind: "unreadable", problem: errorText(error) } };
  }
}

/** The units that run a kubelet or Berth in its place, and their drop-ins; `root` is where the machine's files lie. */
export function findServiceFiles(root = "/"): readonly FileFact[] {
  const units = UNIT_FOLDERS.flatMap((folder) => UNITS.map((unit) => join(root, folder, unit)));
  return units.flatMap((unit) => existing([unit, ...dropIns(`${unit}.d`)]));
}

/** What kube-proxy is known to have on this machine. */
export function findProxyKubeconfigs(root = "/"): readonly FileFact[] {
  return existing(PROXY_KUBECONFIGS.map((path) => join(root, path)));
}

function existing(paths: readonly string[]): readonly FileFact[] {
  return paths.map(lookAtFile).filter(({ seen }) => seen.kind !== "missing");
}

function dropIns(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".conf"));
    return names.map((name) => join(folder, name));
  } catch {
    return [];
  }
}
