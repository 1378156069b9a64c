// Maps as flags write them: k=v,k=v and the like.
import { parseGoBool } from "../../lib/go-number.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { KubeletFlag } from "../generated/kubelet-flags.ts";

type Texts = Readonly<Record<string, string>>;

/** The pairs of one value, added to what there is. */
export function addPairs(
  current: Texts,
  text: string,
  pairs: KubeletFlag["pairs"],
): Result<Texts, string> {
  const separator = pairs === "<" ? "<" : "=";
  const parts = pairs === "whole" ? [text] : text.split(",").filter((part) => part !== "");
  const added: [string, string][] = [];
  for (const part of parts) {
    const [key, value] = cut(part, separator);
    if (value === undefined && pairs !== "labels") {
      return err(`malformed pair, expect string${separator}string`);
    }
    added.push([key.trim(), (value ?? "").trim()]);
  }
  return ok(withEntries(current, added));
}

export function addSwitches(
  current: Readonly<Record<string, boolean>>,
  text: string,
): Result<Readonly<Record<string, boolean>>, string> {
  const added: [string, boolean][] = [];
  for (const part of text.split(",").filter((candidate) => candidate !== "")) {
    const [rawKey, rawValue] = cut(part, "=");
    if (rawValue === undefined) return err("malformed pair, expect string=bool");
    const key = rawKey.trim();
    const value = parseGoBool(rawValue.trim());
    if (!value.ok) return err(`invalid value of ${key}: ${rawValue.trim()}, err: ${value.error}`);
    added.push([key, value.value]);
  }
  return ok(withEntries(current, added));
}

export function addHeaders(
  current: Readonly<Record<string, readonly string[]>>,
  text: string,
): Result<Readonly<Record<string, readonly string[]>>, string> {
  const result = new Map(Object.entries(current));
  for (const part of text.split(",").filter((candidate) => candidate !== "")) {
    const [rawKey, value] = cut(part, ":");
    if (value === undefined) return err("malformed pair, expect string:string");
    const key = rawKey.trim();
    result.set(key, [...(result.get(key) ?? []), value.trim()]);
  }
  return ok(Object.fromEntries(result));
}

/** Pairs sorted and joined. */
export function formatPairs(map: Readonly<Record<string, unknown>>, separator: string): string {
  return sorted(
    Object.entries(map).map(([key, value]) => `${key}${separator}${String(value)}`),
  ).join(",");
}

export function formatHeaders(headers: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(headers)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, values]) => values.map((value) => `${key}:${value}`))
    .join(",");
}

function sorted(texts: readonly string[]): string[] {
  return texts.toSorted((a, b) => (a < b ? -1 : 1));
}

function withEntries<T>(
  current: Readonly<Record<string, T>>,
  added: readonly (readonly [string, T])[],
): Readonly<Record<string, T>> {
  return Object.fromEntries([...Object.entries(current), ...added]);
}

function cut(text: string, separator: string): readonly [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
