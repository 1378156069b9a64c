// What pods ask of their network beyond an address, and whether its plugins can give it.
import type { Pod } from "../../model/pod.ts";
import { mustParseQuantity, parseQuantity, quantityValue } from "../../model/quantity.ts";

const bandwidthAnnotations = [
  "kubernetes.io/ingress-bandwidth",
  "kubernetes.io/egress-bandwidth",
] as const;
const leastBandwidth = quantityValue(mustParseQuantity("1k"));
const greatestBandwidth = quantityValue(mustParseQuantity("1P"));

/** A CNI capability, and what of the pod needs it. */
export interface NetworkNeed {
  readonly capability: "portMappings" | "bandwidth";
  readonly field: string;
}

/** What a pod with a network of its own needs of CNI plugins. */
export function networkNeeds({ metadata, spec }: Pod): readonly NetworkNeed[] {
  if (spec.hostNetwork === true) return [];
  const needs: NetworkNeed[] = [];
  for (const [index, { ports = [] }] of spec.containers.entries()) {
    const port = ports.findIndex(({ hostPort = 0 }) => hostPort > 0);
    const field = `spec.containers[${index}].ports[${port}].hostPort`;
    if (port >= 0) needs.push({ capability: "portMappings", field });
  }
  for (const name of bandwidthAnnotations) {
    if (metadata.annotations?.[name] === undefined) continue;
    needs.push({ capability: "bandwidth", field: `metadata.annotations[${name}]` });
  }
  return needs;
}

/** The need that the network does not meet, said with its field; `capabilities`: those of its plugins. */
export function unmetNeed(
  needs: readonly NetworkNeed[],
  capabilities: ReadonlySet<string>,
): string | undefined {
  const unmet = needs.find(({ capability }) => !capabilities.has(capability));
  if (unmet === undefined) return undefined;
  return `${unmet.field}: no CNI plugin of the pod network has the capability ${unmet.capability}`;
}

/** What is wrong with the limits that a pod sets to its traffic. */
export function bandwidthProblem({ metadata, spec }: Pod): string | undefined {
  if (spec.hostNetwork === true) return undefined;
  for (const name of bandwidthAnnotations) {
    const text = metadata.annotations?.[name];
    const problem = text === undefined ? undefined : limitProblem(text);
    if (problem !== undefined) return `metadata.annotations[${name}]: ${problem}`;
  }
  return undefined;
}

function limitProblem(text: string): string | undefined {
  const limit = parseQuantity(text);
  if (!limit.ok) return limit.error;
  const bitsPerSecond = quantityValue(limit.value);
  if (bitsPerSecond < leastBandwidth) return "resource is unreasonably small (< 1kbit)";
  if (bitsPerSecond > greatestBandwidth) return "resource is unreasonably large (> 1Pbit)";
  return undefined;
}
