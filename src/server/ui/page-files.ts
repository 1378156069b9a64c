// The built page: its document, and what that loads.
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { HttpError } from "../http-error.ts";

const contentTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

interface PageFile {
  /** Below the folder of the page. */
  readonly path: string;
  readonly acceptsGzip: boolean;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
}

/** Sends a file of the page, compressed where the build has done that and the browser takes it. */
export async function sendPageFile(
  response: ServerResponse,
  folder: string,
  { path, acceptsGzip, isImmutable }: PageFile,
): Promise<void> {
  const type = contentTypes[path.slice(path.lastIndexOf(".") + 1)];
  const plain = join(folder, path);
  const compressed = acceptsGzip ? await openFile(`${plain}.gz`) : undefined;
  const file = compressed ?? (await openFile(plain));
  if (type === undefined || file === undefined) throw missing(path);
  try {
    response.writeHead(200, {
      "Content-Type": type,
      "Content-Length": (await file.stat()).size,
      Vary: "Accept-Encoding",
      "Cache-Control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
      ...(compressed === undefined ? {} : { "Content-Encoding": "gzip" }),
    });
    await pipeline(file.createReadStream(), response);
  } finally {
    await file.close();
  }
}

function missing(path: string): HttpError {
  const because = path === "index.html" ? ": this program was built without it" : "";
  return new HttpError("NotFound", `the page has no ${path}${because}`);
}

/** Undefined when there is no such file. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
