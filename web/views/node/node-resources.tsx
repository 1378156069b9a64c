import type { JSX } from "preact";
import { sizeText } from "../../../src/lib/size-text.ts";
import type { NodeDescription } from "../../../src/model/holding.ts";
import { amountOf } from "../../lib/amount.ts";

/** What the node has, and who has what of it alone. */
export function NodeResources({
  description,
}: {
  readonly description: NodeDescription | undefined;
}): JSX.Element {
  const { resources = [], holdings = [] } = description ?? {};
  return (
    <>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col" class="number">
              Capacity
            </th>
            <th scope="col" class="number">
              For pods
            </th>
            <th scope="col">Free to hand out</th>
          </tr>
        </thead>
        <tbody>
          {resources.map(({ resource, capacity, allocatable, free, unhealthy }) => (
            <tr key={resource}>
              <th scope="row">{resource}</th>
              <td class="number">{amountText(resource, capacity)}</td>
              <td class="number">{amountText(resource, allocatable)}</td>
              <td>
                {free ?? ""}
                {unhealthy !== undefined && <span class="bad-text"> unhealthy: {unhealthy}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {holdings.length > 0 && (
        <table class="table">
          <caption class="unseen">What containers have for themselves</caption>
          <tbody>
            {holdings.map(({ pod, container, resource, what }) => (
              <tr key={`${pod.uid}/${container}/${resource}`}>
                <th scope="row">
                  {pod.namespace}/{pod.name} {container}
                </th>
                <td>{resource}</td>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const bytes = /^(memory|ephemeral-storage|hugepages-.*)$/;

function amountText(resource: string, text: string): string {
  const amount = bytes.test(resource) ? amountOf(text) : undefined;
  return amount === undefined ? text : sizeText(amount);
}
