// /logs/: the files of the machine's log folder, and nothing outside of it.
import { constants } from "node:fs";
import { type FileHandle, open, readdir, readlink, realpath } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { escapeHtml, type KubeletExchange, sendRedirect, sendRefusal } from "./answers.ts";
import { escapePath } from "./request-target.ts";

/** Names a file without opening what it is; Node has no name for the flag. */
const pathOnly = 0o10000000;

/** Serves a file or the names in a folder; links lead nowhere that is not below `root` itself. */
export async function answerSystemLogs(root: string, exchange: KubeletExchange): Promise<void> {
  const { parameters, path, request, response, signal } = exchange;
  const relative = parameters["logpath"] ?? "";
  if (relative.split("/").includes("..") || relative.includes("\0")) {
    sendRefusal(response, 400, "invalid URL path");
    return;
  }
  const found = await openBelow(root, relative);
  if (found === undefined) {
    sendRefusal(response, 404, "404 page not found");
    return;
  }
  const { file, isFolder } = found;
  try {
    if (isFolder && !path.endsWith("/")) {
      sendRedirect(request, response, `${path.split("/").at(-1)}/`, 301);
    } else if (!isFolder && path.endsWith("/")) {
      sendRedirect(request, response, `../${path.split("/").at(-2)}`, 301);
    } else if (isFolder) {
      await sendNames(file, response);
    } else {
      await sendFile(file, { request, response, signal });
    }
  } finally {
    await file.close();
  }
}

interface Found {
  readonly file: FileHandle;
  readonly isFolder: boolean;
}

/** Undefined when there is no such file or folder below the root. */
export async function openBelow(root: string, relative: string): Promise<Found | undefined> {
  let found: FileHandle | undefined;
  try {
    const top = await realpath(root);
    // First only named, then opened by that name: what it is cannot be exchanged in between.
    found = await open(`${top}/${relative}`, pathOnly);
    const place = await readlink(`/proc/self/fd/${found.fd}`);
    if (place !== top && !place.startsWith(`${top}/`)) return undefined;
    const stats = await found.stat();
    if (!stats.isFile() && !stats.isDirectory()) return undefined;
    const file = await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
    return { file, isFolder: stats.isDirectory() };
  } catch {
    return undefined;
  } finally {
    await found?.close();
  }
}

async function sendNames(folder: FileHandle, response: KubeletExchange["response"]): Promise<void> {
  const entries = await readdir(`/proc/self/fd/${folder.fd}`, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const links = names.toSorted().map((name) => {
    const target = escapePath(Buffer.from(name, "utf8").toString("latin1"));
    // A name with a colon is not a scheme.
    const href = /^[^/]*:/.test(target) ? `./${target}` : target;
    return `<a href="${escapeHtml(href)}">${escapeHtml(name)}</a>\n`;
  });
  response.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'",
  });
  response.end(
    `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join("")}</pre>\n`,
  );
}

async function sendFile(
  file: FileHandle,
  { request, response, signal }: Pick<KubeletExchange, "request" | "response" | "signal">,
): Promise<void> {
  const { size, mtime } = await file.stat();
  // Whatever a log contains, a browser shows it as text.
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": size,
    "Last-Modified": mtime.toUTCString(),
  });
  if (request.method === "HEAD" || size === 0) {
    response.end();
    return;
  }
  // A log may grow meanwhile, but the answer has the length that it announced.
  const bytes = file.createReadStream({ autoClose: false, start: 0, end: size - 1 });
  await pipeline(bytes, response, { signal });
}
