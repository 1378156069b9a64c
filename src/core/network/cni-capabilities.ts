import { parseJsonText } from "../../lib/json-text.ts";
/** The capabilities of all CNI plugins in containerd's account of its network; undefined where there is none to read. */
export function cniCapabilities(account: string | undefined): ReadonlySet<string> | undefined {
  if (account === undefined) return undefined;
  const networks = list(field(parse(account), "Networks"));
  if (networks.length === 0) return undefined;
  const plugins = networks.flatMap((network) => list(field(field(network, "Config"), "Plugins")));
  const capabilities = plugins.map((plugin) => field(field(plugin, "Network"), "capabilities"));
  return new Set(
    capabilities.flatMap((found) =>
      isObject(found) ? Object.keys(found).filter((name) => found[name] === true) : [],
    ),
  );
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
