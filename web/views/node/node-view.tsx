import type { JSX } from "preact";
import type { NodeDescription } from "../../../src/model/holding.ts";
import { useRead } from "../../hooks.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";

export function NodeView(): JSX.Element {
  const { value } = useRead<NodeDescription>("/berth/v1/node", { periodMs: 5_000 });
  const conditions = value?.node.status?.conditions ?? [];
  return (
    <section aria-labelledby="node-title">
      <h1 id="node-title">{value?.node.metadata?.name ?? "Node"}</h1>
      <table class="table">
        <tbody>
          {conditions.map(({ type, status, reason, message }) => (
            <tr key={type}>
              <th scope="row">{type}</th>
              <td>
                <StatusBadge status={status} />
              </td>
              <td>{reason}</td>
              <td>{message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
