// Taints, reserved memory and log patterns as flags write them.
import { parseGoDecimal, parseGoUint } from "../../lib/go-number.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatQuantity, parseQuantity } from "../../model/quantity.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../model/validate/names.ts";
import type { MemoryReservation, Taint, VModuleItem } from "../generated/kubelet-configuration.ts";

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** key=value:effect, several separated by commas; one that ends with "-" counts for nothing. */
export function parseTaints(text: string): Result<readonly Taint[] | undefined, string> {
  if (text === "") return ok(undefined);
  const taints: Taint[] = [];
  for (const spec of text.split(",")) {
    const isRemoval = spec.endsWith("-");
    const parsed = parseTaint(isRemoval ? spec.slice(0, -1) : spec);
    if (!parsed.ok) return parsed;
    if (isRemoval) continue;
    const { key, value, effect } = parsed.value;
    if (effect === "") return err(`invalid taint spec: ${spec}`);
    if (taints.some((other) => other.key === key && other.effect === effect)) {
      return err(
        `duplicated taints with the same key and effect: {${key} ${value} ${effect} <nil>}`,
      );
    }
    taints.push(parsed.value);
  }
  return ok(taints.length === 0 ? undefined : taints);
}

function parseTaint(spec: string): Result<Taint, string> {
  const invalid = (problems: readonly string[]): Result<Taint, string> =>
    err(
      [`invalid taint spec: ${spec}`, ...(problems.length > 0 ? [problems.join("; ")] : [])].join(
        ", ",
      ),
    );
  const [pair = "", effect = "", ...more] = spec.split(":");
  if (more.length > 0) return invalid([]);
  if (spec.includes(":") && !taintEffects.includes(effect)) {
    return err(`invalid taint effect: ${effect}, unsupported taint effect`);
  }
  const [key = "", value = "", ...others] = spec.includes(":") ? pair.split("=") : [pair];
  if (others.length > 0) return invalid([]);
  const problems = labelValueProblems(value);
  const keyProblems = problems.length > 0 ? problems : qualifiedNameProblems(key);
  if (keyProblems.length > 0) return invalid(keyProblems);
  return ok({ key, value, effect, timeAdded: undefined });
}

export function formatTaints(taints: readonly Taint[] | undefined): string {
  return (taints ?? []).map(({ key, value, effect }) => `${key}=${value}:${effect}`).join(",");
}

/** NUMA:type=quantity,type=quantity, several separated by semicolons. */
export function parseReservedMemory(text: string): Result<readonly MemoryReservation[], string> {
  const reservations: MemoryReservation[] = [];
  for (const part of text.split(";")) {
    const [node = "", limitsText, ...more] = part.split(":");
    if (limitsText === undefined || more.length > 0) {
      return err(
        `the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${part}`,
      );
    }
    const numaNode = parseGoDecimal(node);
    if (!numaNode.ok)
      return err(`failed to convert the NUMA node ID, expected integer, got ${node}`);
    const limits = parseLimits(limitsText);
    if (!limits.ok) return limits;
    reservations.push({
      numaNode: Number(BigInt.asIntN(32, numaNode.value)),
      limits: limits.value,
    });
  }
  return ok(reservations);
}

function parseLimits(text: string): Result<Readonly<Record<string, string>>, string> {
  const limits = new Map<string, string>();
  for (const part of text.split(",")) {
    const [type = "", amount, ...more] = part.split("=");
    if (amount === undefined || more.length > 0) {
      return err(`the reserved limit has incorrect value, expected type=quantity, got ${part}`);
    }
    if (type !== "memory" && !type.startsWith("hugepages-")) {
      return err(`memory type conversion error, unknown type: ${quoteText(type)}`);
    }
    const quantity = parseQuantity(amount);
    if (!quantity.ok) return err(`failed to parse the quantity: ${amount}`);
    limits.set(type, formatQuantity(quantity.value));
  }
  return ok(Object.fromEntries(limits));
}

export function formatReservedMemory(reservations: readonly MemoryReservation[]): string {
  return reservations
    .map(({ numaNode, limits }) => {
      const parts = Object.entries(limits ?? {}).map(([type, amount]) => `${type}=${amount}`);
      return `${numaNode}:${parts.toSorted(byText).join(",")}`;
    })
    .toSorted(byText)
    .join(",");
}

/** pattern=N, several separated by commas. */
export function parseLogPatterns(text: string): Result<readonly VModuleItem[], string> {
  const items: VModuleItem[] = [];
  for (const part of text.split(",").filter((candidate) => candidate !== "")) {
    const [filePattern = "", level = "", ...more] = part.split("=");
    if (filePattern === "" || level === "" || more.length > 0) {
      return err(`${quoteText(part)} does not have the pattern=N format`);
    }
    const verbosity = parseGoUint(level, 31);
    if (!verbosity.ok) return err(`parsing verbosity in ${quoteText(part)}: ${verbosity.error}`);
    items.push({ filePattern, verbosity: Number(verbosity.value) });
  }
  return ok(items);
}

export function formatLogPatterns(items: readonly VModuleItem[]): string {
  return items.map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`).join(",");
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
