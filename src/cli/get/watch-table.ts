// `berth get pods -w` on a terminal: the table as it is now, in place of the one before.
import { sleep } from "../../lib/timers.ts";
import type { Pod } from "../../model/pod.ts";
import type { AgentClient } from "../agent-client.ts";
import { painter } from "../output/colour.ts";
import { redraw } from "../output/redraw.ts";
import { Table } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { type PodColumns, podCells, podHeader } from "./pod-cells.ts";

export interface WatchTableOptions {
  readonly client: AgentClient;
  readonly terminal: Terminal;
  readonly columns: PodColumns;
  readonly showHeader: boolean;
}

/** Ages grow by themselves. */
const refreshMs = 1_000;
const usualSize = { width: 80, height: 24 };

export class WatchTable {
  readonly #options: WatchTableOptions;
  #pods: readonly Pod[] = [];
  #lines = 0;

  constructor(options: WatchTableOptions) {
    this.#options = options;
  }

  show(pods: readonly Pod[]): void {
    this.#pods = pods;
    this.#draw();
  }

  /** Draws it again each second until `signal` aborts. */
  async refresh(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(refreshMs, signal).catch(() => undefined);
      if (!signal.aborted) this.#draw();
    }
  }

  #draw(): void {
    const { client, terminal, columns, showHeader } = this.#options;
    const nowMs = client.agentTime(terminal.nowMs());
    const rows = this.#pods
      .toSorted(byNamespaceAndName)
      .map((pod) => podCells(pod, columns, nowMs));
    const table = new Table(podHeader(columns), showHeader, painter(terminal.colours));
    const lines = rows.length === 0 ? ["No resources found."] : table.lines(rows);
    const drawn = redraw(lines, this.#lines, sizeOf(terminal));
    this.#lines = drawn.lines;
    terminal.out(drawn.text);
  }
}

/** Whether a person looks at what is printed. */
export function isShown({ stdout }: Terminal): boolean {
  return "isTTY" in stdout && stdout.isTTY === true;
}

function sizeOf({ stdout }: Terminal): typeof usualSize {
  const { columns, rows } = stdout as { readonly columns?: number; readonly rows?: number };
  // A terminal that does not know its size says 0.
  return { width: columns || usualSize.width, height: rows || usualSize.height };
}

function byNamespaceAndName(a: Pod, b: Pod): number {
  const first = `${a.metadata.namespace}/${a.metadata.name}`;
  const second = `${b.metadata.namespace}/${b.metadata.name}`;
  return first < second ? -1 : first > second ? 1 : 0;
}
