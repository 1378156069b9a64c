import { type WireType, wireFields } from "../../src/model/manifest/wire-type.ts";

const words = [
  "",
  "a",
  "main",
  "web",
  "scratch",
  "default",
  "app:1",
  "/data",
  "/",
  "../x",
  "a/b",
  "$(A)",
  "$$(A",
  "Always",
  "Never",
  "OnFailure",
  "IfNotPresent",
  "Memory",
  "TCP",
  "UDP",
  "HTTPS",
  "File",
  "FallbackToLogsOnError",
  "ClusterFirst",
  "None",
  "Localhost",
  "RuntimeDefault",
  "Unconfined",
  "Bidirectional",
  "HostToContainer",
  "IfPossible",
  "RestartContainer",
  "metadata.name",
  "metadata.labels['a']",
  "limits.cpu",
  "requests.memory",
  "127.0.0.1",
  "::1",
  "[::1]",
  "localhost",
  "-1",
  "0",
  "80",
  "1Gi",
  "100m",
  "1e3",
  "9223372036854775808",
  "cpu",
  "memory",
  "ephemeral-storage",
  "hugepages-2Mi",
  "kubernetes.io/x",
  "NET_ADMIN",
  "ALL",
  "SIGTERM",
  "s0:c1",
  "2026-01-01T00:00:00Z",
  "kernel.shm_rmid_forced",
  "ü\u0000\uD800",
  "__proto__",
  "constructor",
  "x".repeat(300),
];
const numbers = [0, 1, -1, 2, 10, 80, 420, 65_535, 65_536, 1000, 2_147_483_647, -2_147_483_648];
const quantities = [
  "0",
  "1",
  "100m",
  "64Mi",
  "1Gi",
  "-1",
  "1e3",
  "0.5",
  "1n",
  "9E",
  "",
  "x",
  1,
  0.1,
];

/** A number from 0 (included) to 1 (excluded). */
type Random = () => number;

/** A value of that type, mostly of the right shape; deeper down there is less of it. */
function anyValue(random: Random, type: WireType, depth: number): unknown {
  if (random() < 0.01) return pick(random, [null, 1, "a", true, [], {}]);
  switch (type.kind) {
    case "string":
    case "time":
    case "bytes":
    case "raw":
      return pick(random, words);
    case "bool":
      return random() < 0.5;
    case "int32":
    case "int64":
      return pick(random, numbers);
    case "quantity":
      return pick(random, quantities);
    case "intOrString":
      return random() < 0.5 ? pick(random, numbers) : pick(random, words);
    case "array":
      return Array.from({ length: Math.floor(random() * 3) }, () =>
        anyValue(random, type.item, depth - 1),
      );
    case "map":
      return Object.fromEntries(
        Array.from({ length: Math.floor(random() * 3) }, () => [
          pick(random, words),
          anyValue(random, type.item, depth - 1),
        ]),
      );
    case "struct":
      return anyStruct(random, type.struct, depth);
  }
}

/** Some of the struct's fields. */
export function anyStruct(random: Random, struct: string, depth: number): Record<string, unknown> {
  const fields = [...wireFields(struct)];
  const share = depth <= 0 ? 0 : 2.5 / Math.max(1, fields.length);
  const chosen = fields.filter(([, field]) => !field.isOmittedWhenEmpty || random() < share);
  return Object.fromEntries(
    chosen.map(([name, field]) => [name, anyValue(random, field.type, depth - 1)]),
  );
}

/** The same value with one place of it made another, by its type. */
export function mutated(random: Random, value: unknown, type: WireType): unknown {
  if (type.kind === "array" && Array.isArray(value) && value.length > 0 && random() < 0.9) {
    const at = Math.floor(random() * value.length);
    return value.map((each, index) => (index === at ? mutated(random, each, type.item) : each));
  }
  if (type.kind === "struct" && typeof value === "object" && value !== null && random() < 0.97) {
    const fields = wireFields(type.struct);
    const present = Object.keys(value).filter((name) => fields.has(name));
    const isDeep = present.length > 0 && random() < 0.75;
    const name = pick(random, isDeep ? present : [...fields.keys()]);
    const field = fields.get(name);
    if (field === undefined) return value;
    const before: unknown = Reflect.get(value, name);
    const after =
      before === undefined ? anyValue(random, field.type, 3) : mutated(random, before, field.type);
    return { ...value, [name]: after };
  }
  return anyValue(random, type, 3);
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new Error("nothing to choose from");
  return choice;
}
