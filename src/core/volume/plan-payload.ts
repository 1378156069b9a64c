import { quoteText } from "../../lib/go-text.ts";
import { cleanPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Payload, PayloadPlan, PublishedPayload } from "../../model/volume-payload.ts";

const maxNameBytes = 255;
const maxPathBytes = 4096;

const encoder = new TextEncoder();

/** Plans how a volume comes to show a payload; new content is written only where something differs. */
export function planPayload(
  payload: Payload,
  published: PublishedPayload | undefined,
): Result<PayloadPlan, string> {
  for (const path of payload.keys()) {
    const problem = pathProblem(path);
    if (problem !== undefined) return err(`invalid path: ${problem}`);
  }
  const content = new Map([...payload].map(([path, file]) => [cleanPath(path), file]));
  const tree = treeOf(content.keys());
  for (const path of content.keys()) {
    const parent = fileAbove(tree, path);
    if (parent !== undefined)
      return err(`invalid path: ${parent} is a file and the folder of ${path}`);
  }
  const removed = [...(published?.entries.keys() ?? [])].filter((path) => !holds(tree, path));
  const isCurrent = published !== undefined && removed.length === 0 && shows(published, content);
  const links = new Map<string, number | undefined>();
  for (const [path, { ownerUid }] of content) {
    const [name = ""] = path.split("/");
    if (!links.has(name)) links.set(name, ownerUid);
  }
  return ok({
    content: isCurrent ? undefined : content,
    links,
    removedNames: removed.filter((path) => !path.includes("/")),
  });
}

function pathProblem(path: string): string | undefined {
  if (path === "") return `must not be empty: ${quoteText(path)}`;
  if (path.startsWith("/")) return `must be relative path: ${path}`;
  if (encoder.encode(path).length > maxPathBytes) {
    return `must be less than or equal to ${maxPathBytes} characters`;
  }
  const names = path.split("/");
  for (const name of names) {
    if (name === "..") return `must not contain '..': ${path}`;
    if (encoder.encode(name).length > maxNameBytes) {
      return `filenames must be less than or equal to ${maxNameBytes} characters`;
    }
  }
  return path.startsWith("..") ? `must not start with '..': ${path}` : undefined;
}

function shows(published: PublishedPayload, content: Payload): boolean {
  return [...content].every(([path, { data }]) => {
    const present = published.entries.get(path);
    return present !== undefined && isSameData(present, data);
  });
}

function isSameData(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** What is at a path. Paths may have two thousand parts: a text for each of their folders would be megabytes. */
interface TreeEntry {
  isFile: boolean;
  readonly children: Map<string, TreeEntry>;
}

function treeOf(files: Iterable<string>): TreeEntry {
  const root: TreeEntry = { isFile: false, children: new Map() };
  for (const path of files) {
    let entry = root;
    for (const name of path.split("/")) {
      const child = entry.children.get(name) ?? { isFile: false, children: new Map() };
      entry.children.set(name, child);
      entry = child;
    }
    entry.isFile = true;
  }
  return root;
}

/** The innermost folder of a path that is a file as well. */
function fileAbove(tree: TreeEntry, path: string): string | undefined {
  const names = path.split("/");
  let entry: TreeEntry | undefined = tree;
  let depth = 0;
  for (const [index, name] of names.slice(0, -1).entries()) {
    entry = entry?.children.get(name);
    if (entry?.isFile === true) depth = index + 1;
  }
  return depth === 0 ? undefined : names.slice(0, depth).join("/");
}

/** Whether there is a file or a folder at the path. */
function holds(tree: TreeEntry, path: string): boolean {
  let entry: TreeEntry | undefined = tree;
  for (const name of path.split("/")) entry = entry?.children.get(name);
  return entry !== undefined;
}
