import type { JSX } from "preact";
import { podRow } from "../../../src/model/pod-row.ts";
import { useNowMs, usePage, useStore } from "../../hooks.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { hrefOf } from "../../routes.ts";

export function PodsView(): JSX.Element {
  const { byUid } = useStore(usePage().pods);
  const nowMs = useNowMs();
  return (
    <section aria-labelledby="pods-title">
      <h1 id="pods-title">Pods</h1>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Namespace</th>
            <th scope="col">Name</th>
            <th scope="col">Ready</th>
            <th scope="col">Status</th>
            <th scope="col">Restarts</th>
            <th scope="col">Age</th>
          </tr>
        </thead>
        <tbody>
          {[...byUid].map(([uid, pod]) => {
            const row = podRow(pod, nowMs);
            const { namespace, name } = row;
            const route = { view: "pod", namespace, name, tab: "timeline" } as const;
            return (
              <tr key={uid}>
                <td>{namespace}</td>
                <th scope="row">
                  <a href={hrefOf({ route })}>{name}</a>
                </th>
                <td>{row.ready}</td>
                <td>
                  <StatusBadge status={row.status} />
                </td>
                <td>{row.restarts}</td>
                <td>{row.age}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
