import { stringify } from "yaml";
import { parseJsonText } from "../../lib/json-text.ts";

/** As kubectl prints objects: keys sorted, nothing folded, lists not indented. */
export function toYaml(value: unknown): string {
  // Through JSON first: absent fields must stay absent.
  return stringify(parseJsonText(JSON.stringify(value)), {
    // Kubernetes reads YAML 1.1, where a bare "yes" is not a string.
    version: "1.1",
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    aliasDuplicateObjects: false,
  });
}
