import { compareText } from "../../../lib/compare-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";

const transportMark = "iface.transport_name = ";

/** The transport of an interface as `iscsiadm -m iface -o show` prints it; undefined when it is not there. */
export function transportName(shown: string): string | undefined {
  const start = shown.indexOf(transportMark);
  if (start < 0) return undefined;
  const end = shown.indexOf("\n", start);
  if (end < 0) return undefined;
  const name = shown.slice(start + transportMark.length, end);
  if (name === "") return undefined;
  return name === "<empty>" ? "tcp" : name;
}

/** The records of a clone of an interface, by key: all that are set, but for the name, and with the initiator name of its own. */
export function cloneRecords(
  shown: string,
  initiatorName: string,
): Result<readonly (readonly [key: string, value: string])[], string> {
  const records = new Map<string, string>();
  for (const line of shown.split("\n")) {
    if (!line.startsWith("iface.") || line.includes("<empty>")) continue;
    const words = line.split(/\s+/).filter((word) => word !== "");
    const [key, equals, value] = words;
    if (words.length !== 3 || key === undefined || equals !== "=" || value === undefined) {
      return err(`error: invalid iface setting: [${words.join(" ")}]`);
    }
    // The name cannot be changed once the interface exists.
    if (key !== "iface.iscsi_ifacename") records.set(key, value);
  }
  records.set("iface.initiatorname", initiatorName);
  return ok([...records].toSorted(([a], [b]) => compareText(a, b)));
}
