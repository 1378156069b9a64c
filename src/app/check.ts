// `berth check`: can Berth run here, and how well?
import { existsSync } from "node:fs";
import { createContainerdEvents } from "../drivers/containerd/containerd-events.ts";
import { createCriEvents } from "../drivers/cri/cri-events.ts";
import { createCriRuntime } from "../drivers/cri/cri-runtime.ts";
import { runPreflight } from "../drivers/linux/preflight.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import type { CheckResult } from "../lib/check-result.ts";
import { parseRuntimeEndpoint } from "../model/runtime-endpoint.ts";
import { readRuntimeRecord } from "./runtime-record.ts";

export interface CheckOptions {
  readonly dataDir: string;
  /** The runtime that would be used instead of a containerd of Berth's own. */
  readonly runtimeEndpoint?: string | undefined;
}

/** Checks the machine, and the runtime where one is running; changes nothing. */
export async function checkMachine(
  { dataDir, runtimeEndpoint }: CheckOptions,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const endpoint = runtimeEndpoint ?? (await runningEndpoint(dataDir));
  const client = endpoint === undefined ? undefined : createCriRuntime(endpoint);
  try {
    return await runPreflight(
      {
        machine: readMachine(),
        dataDir,
        managed: runtimeEndpoint === undefined,
        ...(client && {
          runtime: { client, events: [createCriEvents(client), createContainerdEvents(client)] },
        }),
      },
      signal,
    );
  } finally {
    client?.close();
  }
}

/** The runtime of the agent that uses this data folder; its absence before the first start is not a fault. */
async function runningEndpoint(dataDir: string): Promise<string | undefined> {
  const record = await readRuntimeRecord(dataDir);
  if (record === undefined || record === "damaged") return undefined;
  const { endpoint } = record;
  const path = parseRuntimeEndpoint(endpoint);
  return path.ok && existsSync(path.value) ? endpoint : undefined;
}
