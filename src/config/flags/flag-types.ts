import { formatCsvRecord, parseCsvRecord } from "../../lib/csv-record.ts";
import { formatNanoseconds, parseNanoseconds } from "../../lib/duration.ts";
import { parseGoBool, parseGoInt, parseGoUint } from "../../lib/go-number.ts";
import { quoteText } from "../../lib/go-text.ts";
import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatQuantity, parseQuantity } from "../../model/quantity.ts";
import type { MemoryReservation, Taint, VModuleItem } from "../generated/kubelet-configuration.ts";
import type { KubeletFlag } from "../generated/kubelet-flags.ts";
import {
  formatLogPatterns,
  formatReservedMemory,
  formatTaints,
  parseLogPatterns,
  parseReservedMemory,
  parseTaints,
} from "./node-objects.ts";
import { addHeaders, addPairs, addSwitches, formatHeaders, formatPairs } from "./text-maps.ts";

/** How a flag reads and shows its values. */
interface FlagType {
  /** The value after one more occurrence; `current` is undefined at the first one of a type that replaces its default. */
  readonly read: (text: string, current: unknown, flag: KubeletFlag) => Result<unknown, string>;
  readonly show: (value: unknown, flag: KubeletFlag) => string;
  /** Whether the first occurrence adds to what is there instead of replacing it. */
  readonly addsAlways?: boolean;
}

type Texts = Readonly<Record<string, string>>;

const duration = (text: string): Result<string, string> => {
  const parsed = parseNanoseconds(text);
  return parsed.ok ? ok(formatNanoseconds(parsed.value)) : parsed;
};

const integer =
  (bits: 32 | 64) =>
  (text: string): Result<number, string> => {
    const parsed = parseGoInt(text, bits);
    return parsed.ok ? ok(Number(parsed.value)) : parsed;
  };

const types: Readonly<Record<string, FlagType>> = {
  string: { read: ok, show: String },
  bool: { read: parseGoBool, show: String },
  int: { read: integer(64), show: String },
  int32: { read: integer(32), show: String },
  int64: { read: integer(64), show: String },
  duration: { read: duration, show: String },
  ip: { read: readIp, show: String },
  quantity: { read: readQuantity, show: String },
  Level: { read: readLevel, show: String },
  version: { read: readVersion, show: String },
  stringSlice: {
    read: readList,
    show: (value) => `[${formatCsvRecord((value as readonly string[] | undefined) ?? [])}]`,
  },
  mapStringString: {
    read: (text, current, { pairs }) => addPairs((current as Texts | undefined) ?? {}, text, pairs),
    show: (value, { pairs }) =>
      formatPairs((value as Texts | undefined) ?? {}, pairs === "<" ? "<" : "="),
  },
  mapStringBool: {
    read: (text, current) =>
      addSwitches((current as Readonly<Record<string, boolean>> | undefined) ?? {}, text),
    show: (value) => formatPairs((value as Texts | undefined) ?? {}, "="),
  },
  colonSeparatedMultimapStringString: {
    read: (text, current) =>
      addHeaders((current as Readonly<Record<string, readonly string[]>> | undefined) ?? {}, text),
    show: (value) =>
      formatHeaders((value as Readonly<Record<string, readonly string[]>> | undefined) ?? {}),
  },
  "reserved-memory": {
    read: (text, current) => {
      const added = parseReservedMemory(text);
      const before = (current as readonly MemoryReservation[] | undefined) ?? [];
      return added.ok ? ok([...before, ...added.value]) : added;
    },
    show: (value) =>
      formatReservedMemory((value as readonly MemoryReservation[] | undefined) ?? []),
  },
  "[]v1.Taint": {
    read: parseTaints,
    show: (value) => formatTaints(value as readonly Taint[] | undefined),
  },
  "pattern=N,...": {
    addsAlways: true,
    read: (text, current) => {
      const added = parseLogPatterns(text);
      const before = (current as readonly VModuleItem[] | undefined) ?? [];
      return added.ok ? ok([...before, ...added.value]) : added;
    },
    show: (value) => formatLogPatterns((value as readonly VModuleItem[] | undefined) ?? []),
  },
};

/** A flag's value after one more occurrence of it. */
export function readFlagValue(
  flag: KubeletFlag,
  text: string,
  current: unknown,
  isFirst: boolean,
): Result<unknown, string> {
  const type = typeOf(flag);
  const addsNow = !isFirst || type.addsAlways === true || flag.pairs === "labels";
  const value = type.read(text, addsNow ? current : undefined, flag);
  if (value.ok || flag.origin !== "cadvisor") return value;
  // These come from another library, which says less.
  return err(value.error.endsWith("value out of range") ? "value out of range" : "parse error");
}

export function showFlagValue(flag: KubeletFlag, value: unknown): string {
  return typeOf(flag).show(value, flag);
}

function typeOf(flag: KubeletFlag): FlagType {
  const type = types[flag.type];
  if (type === undefined) throw new Error(`impossible state: flag type ${flag.type}`);
  return type;
}

function readIp(text: string): Result<string, string> {
  if (parseIpAddress(text) !== undefined) return ok(text);
  return err(`${quoteText(text)} is not a valid IP address`);
}

function readQuantity(text: string): Result<string, string> {
  const parsed = parseQuantity(text);
  return parsed.ok ? ok(formatQuantity(parsed.value)) : parsed;
}

function readLevel(text: string): Result<number, string> {
  const parsed = parseGoUint(text, 31);
  return parsed.ok ? ok(Number(parsed.value)) : parsed;
}

function readVersion(text: string): Result<string, string> {
  if (text === "raw" || text.startsWith("v")) return ok(text);
  const parsed = parseGoBool(text);
  return parsed.ok ? ok(String(parsed.value)) : parsed;
}

function readList(text: string, current: unknown): Result<readonly string[], string> {
  const added = text === "" ? ok([]) : parseCsvRecord(text);
  const before = (current as readonly string[] | undefined) ?? [];
  return added.ok ? ok([...before, ...added.value]) : added;
}
