import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readManifestFolder } from "../../../src/drivers/manifest/manifest-folder.ts";
import { parseFile } from "../../../src/drivers/manifest/parse-file.ts";
import { podKey } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Entry =
  | { readonly name: string; readonly content: string }
  | { readonly name: string; readonly contains: Readonly<Record<string, string>> };

interface Input {
  readonly nodeName: string;
  readonly files: readonly Entry[];
}

export const staticPodDir: VectorDomain = vectorDomain<Input>("static-pod-dir", run);

async function run({ nodeName, files }: Input): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), "berth-vectors-"));
  try {
    for (const file of files) writeEntry(folder, file);
    const content = await readManifestFolder(folder, "all");
    const parsed = content.files.flatMap((file) => {
      const result = parseFile(file, nodeName, "kubelet");
      return result.ok ? result.value.pods.map((pod) => ({ file: basename(file.path), pod })) : [];
    });
    return {
      podNames: parsed.map(({ pod }) => pod.metadata.name),
      fileToKey: Object.fromEntries(parsed.map(({ file, pod }) => [file, podKey(pod)])),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeEntry(folder: string, entry: Entry): void {
  const path = join(folder, entry.name);
  if ("content" in entry) {
    writeFileSync(path, entry.content);
    return;
  }
  mkdirSync(path);
  for (const [name, content] of Object.entries(entry.contains)) {
    writeFileSync(join(path, name), content);
  }
}
