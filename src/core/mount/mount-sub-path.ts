import { err, ok, type Result } from "../../lib/result.ts";
import type { VolumeMount } from "../../model/generated/kubernetes.ts";
import { expand } from "../env/expansion.ts";

/** No path of Linux is longer. */
const maxPathBytes = 4096;

/** The part of a volume that a mount is about, with its variables filled in; "" for all of it. */
export function mountSubPath(
  mount: Pick<VolumeMount, "subPath" | "subPathExpr">,
  environment: ReadonlyMap<string, string>,
): Result<string, string> {
  const { subPathExpr = "", subPath = "" } = mount;
  const expanded = subPathExpr === "" ? ok(subPath) : expandSubPath(subPathExpr, environment);
  if (!expanded.ok) return expanded;
  const path = expanded.value;
  if (path.startsWith("/")) return err(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes("..")) {
    return err(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return expanded;
}

/** An empty variable would mount another folder than was meant, so it counts as missing. */
function expandSubPath(
  template: string,
  environment: ReadonlyMap<string, string>,
): Result<string, string> {
  const missing = new Set<string>();
  const lookUp = (name: string) => {
    const value = environment.get(name) ?? "";
    if (value === "") missing.add(name);
    return value;
  };
  const expanded = expand(template, lookUp, maxPathBytes);
  if (expanded === undefined) return err(`subPathExpr stands for more than ${maxPathBytes} bytes`);
  if (missing.size === 0) return ok(expanded);
  return err(`missing value for ${[...missing].toSorted().join(", ")}`);
}
