// Which of the registered patterns answers a path, with the redirects of Go's ServeMux.
import {
  cleanRequestPath,
  escapePath,
  hexEscape,
  type RequestTarget,
  unescapeBytes,
} from "./request-target.ts";

export type MuxMatch =
  | { readonly kind: "bad-request" }
  | { readonly kind: "not-found" }
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "found"; readonly pattern: string };

/** A pattern that ends with a slash matches everything below it. */
export function matchPattern(
  patterns: readonly string[],
  method: string,
  target: RequestTarget,
): MuxMatch {
  const { path, escapedPath, rawQuery } = target;
  if (path === "*") return { kind: "bad-request" };
  const clean = method === "CONNECT" ? escapedPath : cleanRequestPath(escapedPath);
  const found = findPattern(patterns, clean);
  if (!isExact(found, clean) && isExact(findPattern(patterns, `${clean}/`), `${clean}/`)) {
    return redirect(`${cleanRequestPath(path)}/`, rawQuery);
  }
  if (clean !== escapedPath) return redirect(clean, rawQuery);
  return found === undefined ? { kind: "not-found" } : { kind: "found", pattern: found };
}

/** The longest pattern that matches; its segments are compared with the unescaped ones of the path. */
function findPattern(patterns: readonly string[], escapedPath: string): string | undefined {
  const segments = escapedPath.split("/").map((segment) => unescapeBytes(segment) ?? segment);
  let best: string | undefined;
  for (const pattern of patterns) {
    if (matches(pattern.split("/"), segments) && pattern.length > (best?.length ?? -1)) {
      best = pattern;
    }
  }
  return best;
}

/** Nothing of the path lies below the pattern. */
function isExact(pattern: string | undefined, path: string): boolean {
  return pattern !== undefined && pattern.split("/").length === path.split("/").length;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isFolder = pattern.at(-1) === "";
  const literals = isFolder ? pattern.slice(0, -1) : pattern;
  const fits = isFolder ? segments.length > literals.length : segments.length === literals.length;
  return fits && literals.every((literal, index) => literal === segments[index]);
}

function redirect(path: string, rawQuery: string): MuxMatch {
  const location = `${escapePath(path)}${rawQuery === "" ? "" : `?${rawQuery}`}`;
  return {
    kind: "redirect",
    location: location.replace(/[\u0080-\u00ff]/g, (byte) => hexEscape(byte).toLowerCase()),
  };
}
