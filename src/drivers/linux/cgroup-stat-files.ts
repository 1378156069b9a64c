import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CgroupDeviceIo } from "../../model/cgroup-usage.ts";
import type { PsiData, PsiStats } from "../../model/stats-summary.ts";

/** From here on a limit of the kernel means none: it rounds its greatest number to whole pages. */
const unlimited = 2 ** 62;

/** The text of a file of a cgroup; undefined where the kernel has none. */
export function readText(folder: string | undefined, file: string): string | undefined {
  if (folder === undefined) return undefined;
  try {
    return readFileSync(join(folder, file), "utf8");
  } catch {
    return undefined;
  }
}

/** A file with one number. */
export function readNumber(folder: string | undefined, file: string): number | undefined {
  return numberOf(readText(folder, file));
}

/** The same of a limit; undefined also when it limits nothing. */
export function readLimit(folder: string | undefined, file: string): number | undefined {
  const limit = readNumber(folder, file);
  return limit === undefined || limit < 0 || limit > unlimited ? undefined : limit;
}

/** A file of lines of a name and a number. */
export function readTable(
  folder: string | undefined,
  file: string,
): ReadonlyMap<string, number> | undefined {
  const text = readText(folder, file);
  if (text === undefined) return undefined;
  const table = new Map<string, number>();
  for (const line of text.split("\n")) {
    const blank = line.indexOf(" ");
    if (blank > 0) table.set(line.slice(0, blank), Number(line.slice(blank + 1)));
  }
  return table;
}

/** A file of pressure. */
export function readPressure(folder: string | undefined, file: string): PsiStats | undefined {
  const text = readText(folder, file);
  if (text === undefined) return undefined;
  const lineOf = (kind: string) => text.split("\n").find((line) => line.startsWith(`${kind} `));
  return { full: psiData(lineOf("full")), some: psiData(lineOf("some")) };
}

function psiData(line: string | undefined): PsiData {
  const values = new Map((line ?? "").split(" ").map((field) => splitAt(field, "=")));
  const valueOf = (name: string) => Number(values.get(name) ?? 0);
  return {
    total: valueOf("total"),
    avg10: valueOf("avg10"),
    avg60: valueOf("avg60"),
    avg300: valueOf("avg300"),
  };
}

/** How many processes are in this cgroup itself. */
export function countProcesses(folder: string | undefined): number {
  const list = readText(folder, "cgroup.procs")?.trim() ?? "";
  return list === "" ? 0 : list.split("\n").length;
}

/** The bytes and the operations by device: `8:0 Read 4096` of v1. */
export function parseBlkio(bytes: string, operations: string): CgroupDeviceIo[] {
  const byteTable = blkioTable(bytes);
  const countTable = blkioTable(operations);
  const devices = new Set([...byteTable.keys(), ...countTable.keys()]);
  return [...devices].map((device) => ({
    device,
    number: device,
    bytes: Object.fromEntries(byteTable.get(device) ?? []),
    reads: countTable.get(device)?.get("Read") ?? 0,
    writes: countTable.get(device)?.get("Write") ?? 0,
  }));
}

function blkioTable(text: string): Map<string, Map<string, number>> {
  const table = new Map<string, Map<string, number>>();
  for (const line of text.split("\n")) {
    const [device = "", operation, value] = line.split(" ");
    if (operation === undefined || value === undefined) continue;
    const row = table.get(device) ?? new Map<string, number>();
    table.set(device, row.set(operation, Number(value)));
  }
  return table;
}

/** The same of v2: `8:0 rbytes=4096 wbytes=0 rios=1 wios=0`. */
export function parseIoStat(text: string): CgroupDeviceIo[] {
  return text.split("\n").flatMap((line) => {
    const [device = "", ...fields] = line.split(" ");
    if (fields.length === 0) return [];
    const values = new Map(fields.map((field) => splitAt(field, "=")));
    const valueOf = (name: string) => Number(values.get(name) ?? 0);
    return [
      {
        device,
        number: device,
        bytes: { Read: valueOf("rbytes"), Write: valueOf("wbytes") },
        reads: valueOf("rios"),
        writes: valueOf("wios"),
      },
    ];
  });
}

/** When a cgroup was made: its folder changes with every child, the marker hardly ever. */
export function createdAtMs(folder: string, marker: string): number | undefined {
  const times = [folder, join(folder, marker)].flatMap((path) => {
    try {
      return [statSync(path).mtimeMs];
    } catch {
      return [];
    }
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** What the whole machine has, by the names of /proc/meminfo, in bytes. */
export function readMemInfo(procFolder: string): ReadonlyMap<string, number> {
  const text = readText(procFolder, "meminfo") ?? "";
  const entries = [...text.matchAll(/^(\S+):\s+(\d+)(?: kB)?$/gm)];
  return new Map(entries.map(([, name = "", kibibytes]) => [name, Number(kibibytes) * 1024]));
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  const value = Number(trimmed);
  return trimmed === "" || Number.isNaN(value) ? undefined : value;
}
