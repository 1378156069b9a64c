import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

interface Vector {
  readonly name: string;
  readonly input: unknown;
  readonly expected: unknown;
}

export interface VectorFile {
  readonly domain: string;
  readonly vectors: readonly Vector[];
}

/** The vector files of a folder, plain or compressed, sorted by domain. */
export function listVectorFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /\.json(\.gz)?$/.test(name))
    .toSorted()
    .map((name) => join(folder, name));
}

export function loadVectorFile(path: string): VectorFile {
  const bytes = readFileSync(path);
  const text = path.endsWith(".gz") ? gunzipSync(bytes).toString() : bytes.toString();
  const file = JSON.parse(text) as Partial<VectorFile>;
  if (typeof file.domain !== "string" || !Array.isArray(file.vectors)) {
    throw new Error(`${path}: not a vector file: it needs "domain" and "vectors"`);
  }
  return { domain: file.domain, vectors: file.vectors };
}
