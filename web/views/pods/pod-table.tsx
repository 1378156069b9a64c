import { Component, type JSX } from "preact";
import { useAtMs } from "../../hooks.ts";
import { type Column, columns, type Order, type PodLine } from "../../lib/pod-lines.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { hrefOf } from "../../routes.ts";

export function PodTable({
  lines,
  order,
  onOrder,
}: {
  readonly lines: readonly PodLine[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}): JSX.Element {
  const atMs = useAtMs();
  return (
    <table class="table pods">
      <thead>
        <tr>
          {columns.map((column) => (
            <ColumnHead key={column} column={column} order={order} onOrder={onOrder} />
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <PodLineRow key={line.uid} line={line} atMs={atMs} />
        ))}
      </tbody>
    </table>
  );
}

const titles: Readonly<Record<Column, string>> = {
  namespace: "Namespace",
  name: "Name",
  ready: "Ready",
  status: "Status",
  restarts: "Restarts",
  age: "Age",
  ip: "IP",
};

function ColumnHead({
  column,
  order,
  onOrder,
}: {
  readonly column: Column;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}): JSX.Element {
  const isOrder = order.by === column;
  const direction = order.isDescending ? "descending" : "ascending";
  return (
    <th scope="col" class={`column-${column}`} aria-sort={isOrder ? direction : "none"}>
      <button
        type="button"
        class="sort"
        onClick={() => onOrder({ by: column, isDescending: isOrder && !order.isDescending })}
      >
        {titles[column]}
        <span aria-hidden="true" class="sort-mark">
          {isOrder ? (order.isDescending ? "↓" : "↑") : ""}
        </span>
      </button>
    </th>
  );
}

interface RowProps {
  readonly line: PodLine;
  readonly atMs: number | undefined;
}

/** Drawn again only when it says something else: most rows do not change from second to second. */
class PodLineRow extends Component<RowProps> {
  override shouldComponentUpdate({ line, atMs }: RowProps): boolean {
    const { line: last } = this.props;
    return (
      atMs !== this.props.atMs ||
      line.tone !== last.tone ||
      columns.some((column) => line[column] !== last[column])
    );
  }

  override render(): JSX.Element {
    const { line, atMs } = this.props;
    const { namespace, name } = line;
    const route = { view: "pod", namespace, name, tab: "timeline" } as const;
    return (
      <tr>
        <td class="column-namespace">{namespace}</td>
        <th scope="row" class="column-name">
          <a href={hrefOf({ route, atMs })}>{name}</a>
          <span class="name-note">{namespace}</span>
        </th>
        <td class="column-ready">{line.ready}</td>
        <td class="column-status">
          <StatusBadge status={line.status} tone={line.tone} />
        </td>
        <td class="column-restarts">{line.restarts}</td>
        <td class="column-age">{line.age}</td>
        <td class="column-ip">{line.ip}</td>
      </tr>
    );
  }
}
