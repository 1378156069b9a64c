import { parseJsonText } from "../../lib/json-text.ts";
/** The resources of device plugins by a kubelet's record of them; none where it cannot be read. */
export function parseRegisteredDevices(text: string): readonly string[] {
  try {
    const record: unknown = parseJsonText(text);
    return Object.keys(fieldOf(fieldOf(record, "Data"), "RegisteredDevices"));
  } catch {
    return [];
  }
}

function fieldOf(value: unknown, name: string): object {
  if (typeof value !== "object" || value === null) return {};
  const field: unknown = new Map(Object.entries(value)).get(name);
  return typeof field === "object" && field !== null ? field : {};
}
