// The built page: its document, and what that loads.
import { open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { getRawAsset } from "node:sea";
import { Readable } from "node:stream";
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

interface OpenFile {
  readonly size: number;
  readonly content: () => Readable;
  readonly close: () => Promise<void>;
}

/**
 * Sends a file of the page, compressed where the build has done that and the browser takes it. Without a folder the page is data of
 * this executable.
 */
export async function sendPageFile(
  response: ServerResponse,
  folder: string | undefined,
  { path, acceptsGzip, isImmutable }: PageFile,
): Promise<void> {
  const type = contentTypes[path.slice(path.lastIndexOf(".") + 1)];
  if (type === undefined) throw missing(path);
  const openPart =
    folder === undefined ? openAsset : (name: string) => openFile(join(folder, name));
  const compressed = acceptsGzip ? await openPart(`${path}.gz`) : undefined;
  const file = compressed ?? (await openPart(path));
  if (file === undefined) throw missing(path);
  try {
    response.writeHead(200, {
      "Content-Type": type,
      "Content-Length": file.size,
      Vary: "Accept-Encoding",
      "Cache-Control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
      ...(compressed === undefined ? {} : { "Content-Encoding": "gzip" }),
    });
    await pipeline(file.content(), response);
  } finally {
    await file.close();
  }
}

function missing(path: string): HttpError {
  const because = path === "index.html" ? ": this program was built without it" : "";
  return new HttpError("NotFound", `the page has no ${path}${because}`);
}

/** Undefined when there is no such file. */
async function openFile(path: string): Promise<OpenFile | undefined> {
  const file = await open(path).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    return { size, content: () => file.createReadStream(), close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Undefined when the executable has no such data. */
function openAsset(path: string): OpenFile | undefined {
  try {
    // Of the executable itself: it is only read.
    const bytes = Buffer.from(getRawAsset(`ui/${path}`) as ArrayBuffer);
    const close = (): Promise<void> => Promise.resolve();
    return { size: bytes.length, content: () => Readable.from([bytes]), close };
  } catch (error) {
    if (hasCode(error, "ERR_SINGLE_EXECUTABLE_APPLICATION_ASSET_NOT_FOUND")) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
