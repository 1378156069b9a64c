import { lstat, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planPayload } from "../../../src/core/volume/plan-payload.ts";
import { payloadFiles } from "../../../src/drivers/linux/payload-files.ts";
import type { Payload } from "../../../src/model/volume-payload.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface AtomicWriterInput {
  readonly steps: readonly {
    readonly payload: Readonly<
      Record<string, { readonly data: string; readonly mode: number; readonly fsUser?: number }>
    >;
  }[];
}

export const atomicWriter: VectorDomain = vectorDomain<AtomicWriterInput>(
  "atomic-writer",
  async ({ steps }) => {
    const folder = await mkdtemp(join(tmpdir(), "atomic-writer-"));
    try {
      const results: unknown[] = [];
      for (const { payload } of steps) results.push(await writeStep(folder, decode(payload)));
      return { steps: results };
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

async function writeStep(folder: string, payload: Payload): Promise<unknown> {
  const before = await dataLink(folder);
  const plan = planPayload(payload, await payloadFiles.readPayload(folder));
  if (plan.ok) await payloadFiles.publishPayload(folder, plan.value, undefined);
  const after = await dataLink(folder);
  const files = (await listFiles(folder, "")).map((file) => encodeFile(file, after ?? ""));
  return {
    error: plan.ok ? undefined : plan.error,
    swapped: before !== after,
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

interface ListedFile {
  readonly path: string;
  readonly [field: string]: unknown;
}

async function listFiles(folder: string, prefix: string): Promise<readonly ListedFile[]> {
  const files: ListedFile[] = [];
  for (const name of await readdir(folder)) {
    const path = `${prefix}${name}`;
    const full = join(folder, name);
    const info = await lstat(full);
    const mode = `0${(info.mode & 0o7777).toString(8)}`;
    if (info.isSymbolicLink()) files.push({ path, symlink: await readlink(full) });
    else if (info.isDirectory()) {
      files.push({ path, dir: true, mode }, ...(await listFiles(full, `${path}/`)));
    } else files.push({ path, mode, data: await readFile(full, "base64") });
  }
  return files;
}

function encodeFile({ path, ...file }: ListedFile, dataFolder: string): ListedFile {
  const isCurrent = dataFolder !== "" && path.startsWith(dataFolder);
  return {
    ...file,
    path: isCurrent ? path.replace(dataFolder, "<tsdir>") : path,
    ...(path === "..data" ? { symlink: "<tsdir>" } : {}),
  };
}

async function dataLink(folder: string): Promise<string | undefined> {
  return (await readdir(folder)).includes("..data") ? readlink(join(folder, "..data")) : undefined;
}

function decode(payload: AtomicWriterInput["steps"][number]["payload"]): Payload {
  return new Map(
    Object.entries(payload).map(([path, { data, mode, fsUser }]) => [
      path,
      { data: Buffer.from(data, "base64"), mode, ownerUid: fsUser },
    ]),
  );
}
