// Slash-separated paths as text: no file system is asked.

/** The shortest equal path: no doubled slashes, no "." and no ".." that can be resolved; "" becomes ".". */
export function cleanPath(path: string): string {
  const rooted = path.startsWith("/");
  if (rooted && !/\/(?:[/.]|$)/.test(path)) return path;
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!rooted) parts.push("..");
  }
  const joined = parts.join("/");
  if (rooted) return `/${joined}`;
  return joined === "" ? "." : joined;
}

/** The folder of a path, without its last slash, and the name in it. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf("/");
  return { folder: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) };
}

/** Joins the parts that are not empty and cleans the result; "" when all are empty. */
export function joinPath(...parts: readonly string[]): string {
  const present = parts.filter((part) => part !== "");
  return present.length === 0 ? "" : cleanPath(present.join("/"));
}
