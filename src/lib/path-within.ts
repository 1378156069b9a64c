import { cleanPath } from "./path.ts";

/** Whether a path is a folder or lies below it, as text. A path with and one without a root are never in each other. */
export function isPathWithin(path: string, folder: string): boolean {
  const inner = cleanPath(path);
  const outer = cleanPath(folder);
  if (inner === outer) return true;
  if (inner.startsWith("/") !== outer.startsWith("/")) return false;
  if (outer === "/") return true;
  if (outer === ".") return !leadsUp(inner);
  return inner.startsWith(`${outer}/`) && !leadsUp(inner.slice(outer.length + 1));
}

function leadsUp(path: string): boolean {
  return path === ".." || path.startsWith("../");
}
