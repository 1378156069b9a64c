// Flags that several commands share, and what they mean.
import { dataLayout, defaultDataDir } from "../app/data-layout.ts";
import { AgentClient } from "./agent-client.ts";
import { usageError } from "./exit.ts";
import { type Flag, text } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

export const dataDirFlag: Flag & { readonly kind: "text" } = text(
  "DIR",
  `Folder of the agent's data (default $BERTH_DATA_DIR or ${defaultDataDir}).`,
);

export const namespaceFlag: Flag & { readonly kind: "text" } = text(
  "NAME",
  'Namespace of the pod (default "default").',
  { short: "n" },
);

/** --data-dir, else BERTH_DATA_DIR, else the default. */
export function chooseDataDir(flag: string | undefined, terminal: Terminal): string {
  return flag ?? (terminal.environment["BERTH_DATA_DIR"] || defaultDataDir);
}

/** The one PATH of -f: where only one can be given, the last of several must not count without a word. */
export function onlyFilename(paths: readonly string[]): string | undefined {
  if (paths.length <= 1) return paths[0];
  throw usageError(
    `flag -f can be given once, not for ${paths.join(", ")}: put them into one folder`,
  );
}

function socketPathOf(dataDir: string): string {
  return dataLayout(dataDir).socket;
}

/** The client for the agent of the chosen data dir. */
export function agentClient(flag: string | undefined, terminal: Terminal): AgentClient {
  const startedBy = flag === undefined ? "berth up" : `berth up --data-dir ${flag}`;
  return new AgentClient(socketPathOf(chooseDataDir(flag, terminal)), startedBy);
}
