// Typed flags with kubectl's names and spelling, on top of Node's own argument parser.
import { parseArgs } from "node:util";
import { nearestName } from "../lib/nearest-name.ts";
import { usageError } from "./exit.ts";

interface FlagText {
  /** One letter, for the short form. */
  readonly short?: string;
  readonly help: string;
}

interface ToggleFlag extends FlagText {
  readonly kind: "toggle";
  /** Unless it is switched off. */
  readonly isOn?: boolean;
}

interface TextFlag extends FlagText {
  readonly kind: "text";
  /** The placeholder of the value in the help, such as NAME. */
  readonly value: string;
  readonly choices?: readonly string[];
  /** May be given without a value, which is then empty; a value stands behind "=". */
  readonly isOptional?: boolean;
}

/** May be given several times. */
interface ListFlag extends FlagText {
  readonly kind: "list";
  readonly value: string;
}

export type Flag = ToggleFlag | TextFlag | ListFlag;
export type Flags = Readonly<Record<string, Flag>>;

export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends ToggleFlag
    ? boolean
    : F[Name] extends ListFlag
      ? readonly string[]
      : string | undefined;
};

export interface ParsedArguments<F extends Flags> {
  readonly flags: FlagValues<F>;
  readonly positionals: readonly string[];
  /** What follows "--"; undefined when there is none. */
  readonly rest: readonly string[] | undefined;
  readonly wantsHelp: boolean;
}

export function toggle(help: string, short?: string): ToggleFlag {
  return { kind: "toggle", help, ...(short === undefined ? {} : { short }) };
}

/** On unless --NAME=false is given. */
export function toggleOff(help: string): ToggleFlag {
  return { kind: "toggle", help, isOn: true };
}

export function text(
  value: string,
  help: string,
  more: Pick<TextFlag, "short" | "choices" | "isOptional"> = {},
): TextFlag {
  return { kind: "text", value, help, ...more };
}

export function list(value: string, help: string, short: string): ListFlag {
  return { kind: "list", value, help, short };
}

/** Throws a usage error that names the flag, and the nearest one there is. */
export function parseFlags<F extends Flags>(args: readonly string[], flags: F): ParsedArguments<F> {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const { tokens } = parseArgs({
    args: [...own],
    options: { ...parserOptions(flags), help: { type: "boolean", short: "h" } },
    strict: false,
    tokens: true,
  });
  const values: Record<string, boolean | string | readonly string[] | undefined> = {};
  for (const [name, flag] of Object.entries(flags)) values[name] = unsetValue(flag);
  const positionals: string[] = [];
  let wantsHelp = false;
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") wantsHelp = true;
    else values[token.name] = added(values[token.name], readValue(flags, token));
  }
  return {
    // Filled flag by flag above, each with the type its kind says.
    flags: values as FlagValues<F>,
    positionals,
    rest: end < 0 ? undefined : args.slice(end + 1),
    wantsHelp,
  };
}

function unsetValue(flag: Flag): boolean | readonly string[] | undefined {
  if (flag.kind === "toggle") return flag.isOn === true;
  return flag.kind === "list" ? [] : undefined;
}

/** A list grows; of any other flag the last value counts. */
function added(
  before: boolean | string | readonly string[] | undefined,
  value: boolean | string,
): boolean | string | readonly string[] {
  return typeof before === "object" && typeof value === "string" ? [...before, value] : value;
}

function parserOptions(
  flags: Flags,
): Record<string, { type: "boolean" | "string"; short?: string }> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      {
        type: takesNextWord(flag) ? ("string" as const) : ("boolean" as const),
        ...(flag.short === undefined ? {} : { short: flag.short }),
      },
    ]),
  );
}

/** Whether its value is the word behind it. */
export function takesNextWord(flag: Flag): boolean {
  return flag.kind === "list" || (flag.kind === "text" && flag.isOptional !== true);
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function readValue(flags: Flags, { name, rawName, value }: OptionToken): boolean | string {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (flag === undefined) throw unknownFlag(rawName, flags);
  if (flag.kind === "toggle") return readToggle(rawName, value);
  if (value === undefined && !takesNextWord(flag)) return "";
  if (value === undefined) {
    throw usageError(`flag ${rawName} needs a value: ${rawName} ${flag.value}`);
  }
  if (flag.kind === "text" && flag.choices !== undefined && !flag.choices.includes(value)) {
    throw usageError(
      `flag ${rawName}: "${value}" is not one of ${flag.choices.join(", ")}${hint(nearestName(value, flag.choices))}`,
    );
  }
  return value;
}

function readToggle(rawName: string, value: string | undefined): boolean {
  if (value === undefined || value === "true") return true;
  if (value === "false") return false;
  throw usageError(`flag ${rawName}: "${value}" is neither true nor false`);
}

function unknownFlag(rawName: string, flags: Flags): Error {
  const spellings = [
    ...Object.keys(flags).map((name) => `--${name}`),
    ...Object.values(flags).flatMap(({ short }) => (short === undefined ? [] : [`-${short}`])),
    "--help",
  ];
  const near = rawName.startsWith("--") ? nearestName(rawName, spellings) : undefined;
  return usageError(`unknown flag ${rawName}${hint(near)}`);
}

function hint(near: string | undefined): string {
  return near === undefined ? "" : ` (did you mean ${near}?)`;
}
