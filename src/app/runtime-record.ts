import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJsonText } from "../lib/json-text.ts";

/** What `berth down` must know of the agent that used a data folder. */
export interface RuntimeRecord {
  readonly endpoint: string;
  /** The pods' network; only there when the runtime is Berth's own. */
  readonly network?: { readonly bridge: string; readonly subnet: string } | undefined;
  readonly cgroupRoot: string;
}

export async function writeRuntimeRecord(dataDir: string, record: RuntimeRecord): Promise<void> {
  const path = recordPath(dataDir);
  await writeFile(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Undefined when no agent ever used the folder; "damaged" when one did, but its record says nothing. */
export async function readRuntimeRecord(
  dataDir: string,
): Promise<RuntimeRecord | "damaged" | undefined> {
  const text = await readFile(recordPath(dataDir), "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseRecord(text);
}

function parseRecord(text: string): RuntimeRecord | "damaged" {
  try {
    const { endpoint, network, cgroupRoot } = parseJsonText(text) as Partial<RuntimeRecord>;
    if (endpoint === undefined || cgroupRoot === undefined) return "damaged";
    return { endpoint, network, cgroupRoot };
  } catch {
    return "damaged";
  }
}

export async function removeRuntimeRecord(dataDir: string): Promise<void> {
  await rm(recordPath(dataDir), { force: true });
}

export function recordPath(dataDir: string): string {
  return join(dataDir, "runtime.json");
}
