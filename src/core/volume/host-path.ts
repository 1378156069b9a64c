import { err, ok, type Result } from "../../lib/result.ts";
import type { HostPathVolumeSource } from "../../model/generated/kubernetes.ts";

/** What must be done before a path of the node can be a volume. */
type HostPathPreparation = "nothing" | "make-folder" | "make-file";

const expected: ReadonlyMap<string, { readonly kind: string; readonly text: string }> = new Map([
  ["Directory", { kind: "directory", text: "a directory" }],
  ["File", { kind: "file", text: "a file" }],
  ["Socket", { kind: "socket", text: "a socket file" }],
  ["CharDevice", { kind: "char-device", text: "a character device" }],
  ["BlockDevice", { kind: "block-device", text: "a block device" }],
]);

/** Refuses a path that could lead elsewhere than it says. */
export function checkHostPath(path: string): Result<void, string> {
  if (!path.split("/").includes("..")) return ok(undefined);
  return err(`invalid HostPath \`${path}\`: must not contain '..'`);
}

/** Compares what lies at the path (undefined for nothing) with the type of the volume. */
export function planHostPath(
  { path, type = "" }: HostPathVolumeSource,
  found: string | undefined,
): Result<HostPathPreparation, string> {
  if (type === "") return ok("nothing");
  if (type === "DirectoryOrCreate" && found === undefined) return ok("make-folder");
  if (type === "FileOrCreate" && found === undefined) return ok("make-file");
  const wanted = expected.get(type.replace(/^(Directory|File)OrCreate$/, "$1"));
  if (wanted === undefined) return err(`${type} is an invalid volume type`);
  if (found === wanted.kind) return ok("nothing");
  return err(`hostPath type check failed: ${path} is not ${wanted.text}`);
}
