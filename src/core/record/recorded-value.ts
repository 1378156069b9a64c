// Values in a recording: plain JSON, without secrets.

const hidden = "<redacted>";
const ownAnnotations = "kubernetes.io/config.";

/**
 * A value as a recording has it. Maps and sets are marked; values of environment variables, commands, headers,
 * queries, annotations and termination messages are hidden: decisions do not depend on them.
 */
export function recordedValue(value: unknown): unknown {
  return redact(value, "");
}

/** The value that was recorded, with its maps and sets. */
export function restoreValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(restoreValue);
  if (!isObject(value)) return value;
  const { $map: entries, $set: members } = value;
  if (Array.isArray(entries)) return new Map(entries.map(restoreEntry));
  if (Array.isArray(members)) return new Set(members);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, restoreValue(one)]));
}

function restoreEntry(entry: unknown): [unknown, unknown] {
  const [key, value] = Array.isArray(entry) ? entry : [];
  return [key, restoreValue(value)];
}

/** `field` is the name under which the value lies. */
function redact(value: unknown, field: string): unknown {
  if (value instanceof Map) {
    return { $map: [...value].map(([key, one]) => [key, redact(one, "")]) };
  }
  if (value instanceof Set) return { $set: [...value] };
  if (Array.isArray(value)) {
    if (field === "command" || field === "args") return value.length === 0 ? [] : [hidden];
    return value.map((one) => redact(one, field));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).map((key) => [key, redactEntry(value, key, field)]));
}

function redactEntry(
  holder: Readonly<Record<string, unknown>>,
  key: string,
  field: string,
): unknown {
  const value = holder[key];
  if (field === "httpGet" && key === "path") return hideQuery(value);
  return isSecret(holder, key, field) ? hide(value) : redact(value, key);
}

function isSecret(holder: Readonly<Record<string, unknown>>, key: string, field: string): boolean {
  switch (field) {
    case "annotations":
      // Where a pod comes from is the agent's own note, and decides.
      return !key.startsWith(ownAnnotations);
    case "env":
    case "httpHeaders":
      return key === "value";
    default:
      // How a container ended may come with what it wrote last.
      return key === "message" && "exitCode" in holder;
  }
}

/** The path that a probe or a hook requests is worth recording; tokens are in the query. */
function hideQuery(path: unknown): unknown {
  return typeof path === "string" ? path.replace(/\?.+$/s, `?${hidden}`) : path;
}

/** Whether there was anything may matter. */
function hide(value: unknown): unknown {
  return typeof value === "string" && value !== "" ? hidden : value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
