type Fields = Readonly<Record<string, unknown>>;

const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  addresses: ["type"],
  conditions: ["type"],
  containers: ["name"],
  env: ["name"],
  ephemeralContainers: ["name"],
  hostAliases: ["ip"],
  hostIPs: ["ip"],
  imagePullSecrets: ["name"],
  initContainers: ["name"],
  ownerReferences: ["uid"],
  podIPs: ["ip"],
  ports: ["containerPort", "port"],
  resourceClaims: ["name"],
  resourceClaimStatuses: ["name"],
  secrets: ["name"],
  volumeDevices: ["devicePath"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};
const PLAIN_MERGED = ["finalizers", "podCIDRs"];

/** What the API server makes of an object and a strategic merge patch, with the directives that clients send. */
export function applyStrategicMerge(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  if (patch["$patch"] === "replace") return without(patch, "$patch");
  const merged: Record<string, unknown> = isFields(value) ? { ...value } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    if (change === null) delete merged[name];
    else if (Array.isArray(change)) merged[name] = mergeList(name, merged[name], change);
    else merged[name] = applyStrategicMerge(merged[name], change);
  }
  for (const [name, wanted] of Object.entries(patch)) applyDirective(merged, name, wanted);
  return merged;
}

/** What the API server makes of an object and a JSON merge patch. */
export function applyJsonMerge(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Record<string, unknown> = isFields(value) ? { ...value } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete merged[name];
    else merged[name] = applyJsonMerge(merged[name], change);
  }
  return merged;
}

function applyDirective(merged: Record<string, unknown>, name: string, wanted: unknown): void {
  const [directive, field = ""] = name.split("/");
  const list = merged[field];
  if (!Array.isArray(wanted)) return;
  if (directive === "$retainKeys") {
    for (const key of Object.keys(merged)) if (!wanted.includes(key)) delete merged[key];
  }
  if (!Array.isArray(list)) return;
  if (directive === "$deleteFromPrimitiveList") {
    merged[field] = list.filter((element) => !wanted.includes(element));
  }
  if (directive === "$setElementOrder") {
    const keys = wanted.map((element) => keyOf(field, element));
    const place = (element: unknown): number => {
      const index = keys.indexOf(keyOf(field, element));
      return index < 0 ? keys.length : index;
    };
    merged[field] = list.toSorted((a, b) => place(a) - place(b));
  }
}

function mergeList(name: string, value: unknown, patch: readonly unknown[]): readonly unknown[] {
  const base: readonly unknown[] = Array.isArray(value) ? value : [];
  const isReplaced = patch.some((change) => isFields(change) && change["$patch"] === "replace");
  if (isReplaced) return patch.filter((change) => !(isFields(change) && "$patch" in change));
  if (PLAIN_MERGED.includes(name)) return [...new Set([...base, ...patch])];
  if (!(name in MERGE_KEYS) || !patch.every((change) => keyOf(name, change) !== undefined)) {
    return patch;
  }
  const isFor = (element: unknown) => (change: unknown) =>
    keyOf(name, change) === keyOf(name, element);
  const isRemoval = (change: unknown): boolean => isFields(change) && change["$patch"] === "delete";
  return [
    ...base.flatMap((element) => {
      const change = patch.find(isFor(element));
      if (change === undefined) return [element];
      return isRemoval(change) ? [] : [applyStrategicMerge(element, change)];
    }),
    ...patch.filter((change) => !isRemoval(change) && !base.some(isFor(change))),
  ];
}

function keyOf(list: string, element: unknown): unknown {
  if (!isFields(element)) return element;
  const name = (MERGE_KEYS[list] ?? []).find((candidate) => candidate in element);
  return name === undefined ? undefined : element[name];
}

function without(fields: Fields, name: string): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
