import type { JsonNode } from "../../lib/json-node.ts";
import type { PlacedProblem } from "./placed-problem.ts";

/** Every key that an object has twice: all but the last would be lost without a word. */
export function duplicateKeys(node: JsonNode, path = ""): readonly PlacedProblem[] {
  if (node.kind === "array") {
    return node.items.flatMap((item, index) => duplicateKeys(item, `${path}[${index}]`));
  }
  if (node.kind !== "object") return [];
  const seen = new Set<string>();
  return node.entries.flatMap(({ key, keyAt, value }) => {
    const field = path === "" ? key : `${path}.${key}`;
    const isTaken = seen.has(key);
    seen.add(key);
    const inner = duplicateKeys(value, field);
    if (!isTaken) return inner;
    return [{ message: `field ${field} is there twice: remove one`, field, at: keyAt }, ...inner];
  });
}
