import { once } from "node:events";
import type { Writable } from "node:stream";
import type { Pod } from "../../model/pod.ts";
import type { AgentClient } from "../agent-client.ts";
import { CliError } from "../exit.ts";
import { prefixLines } from "../output/prefix-lines.ts";
import type { Terminal } from "../terminal.ts";
import { begunRuns, type ContainerRun, restartsOf } from "./container-runs.ts";

export interface CopyLogsDeps {
  readonly client: AgentClient;
  readonly terminal: Pick<Terminal, "stdout" | "stderr" | "note">;
  /** Says which pod and container a line is of. */
  readonly withPrefix: boolean;
  readonly signal: AbortSignal;
}

/** Copies what containers write as they write it: every run once, their stdout to stdout and their stderr to stderr. */
export class CopyLogs {
  readonly #deps: CopyLogsDeps;
  readonly #copies = new Map<string, Promise<void>>();

  constructor(deps: CopyLogsDeps) {
    this.#deps = deps;
  }

  /** To be called with every state of a pod. */
  follow(pod: Pod): void {
    for (const run of begunRuns(pod)) {
      const key = `${pod.metadata.uid}/${run.container}/${run.run}`;
      if (this.#copies.has(key)) continue;
      const copy = this.#copyRun(pod, run);
      // Its owner is `finished`.
      copy.catch(() => undefined);
      this.#copies.set(key, copy);
    }
  }

  /** Resolves when all that is followed has ended. */
  async finished(): Promise<void> {
    await Promise.all(this.#copies.values());
  }

  async #copyRun(pod: Pod, run: ContainerRun): Promise<void> {
    const { stdout, stderr } = this.#deps.terminal;
    await Promise.all([
      this.#copy(pod, { ...run, stream: "Stdout" }, stdout),
      this.#copy(pod, { ...run, stream: "Stderr" }, stderr),
    ]);
  }

  async #copy(pod: Pod, stream: RunStream, target: Writable): Promise<void> {
    const { client, terminal, withPrefix, signal } = this.#deps;
    const log = await openRun(client, pod, stream, signal);
    const { container, run } = stream;
    if (log === undefined) {
      terminal.note(`the log of run ${run + 1} of container ${container} is gone`);
      return;
    }
    const prefix = `[pod/${pod.metadata.name}/${container}] `;
    for await (const chunk of withPrefix ? prefixLines(log, prefix) : log) {
      if (!target.write(chunk)) await once(target, "drain", { signal });
    }
  }
}

interface RunStream extends ContainerRun {
  readonly stream: "Stdout" | "Stderr";
}

/**
 * The log of that run, which is the container's current or its previous one: after the log was opened it must be so still.
 * Undefined = it is older.
 */
async function openRun(
  client: AgentClient,
  pod: Pod,
  { container, run, stream }: RunStream,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer> | undefined> {
  const { namespace, name } = pod.metadata;
  for (const later of [0, 1]) {
    const other = new AbortController();
    const lifetime = AbortSignal.any([signal, other.signal]);
    const previous = String(later === 1);
    try {
      const query = { container, stream, previous, follow: "true" };
      const log = await client.openLog(pod, query, lifetime);
      const now = await client.readPod(namespace, name, lifetime);
      if (restartsOf(now, container) === run + later) return log;
    } catch (error) {
      // Not that run's: it waits to start again, or there is no previous one.
      if (signal.aborted || !(error instanceof CliError)) throw error;
    }
    other.abort();
  }
  return undefined;
}
