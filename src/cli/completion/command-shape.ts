// What completion knows of a command: read from the table of commands, so that it is never behind it.
import { kubeletFlags } from "../../config/generated/kubelet-flags.ts";
import type { Command } from "../command.ts";
import { type Flag, takesNextWord } from "../flags.ts";

/** What may stand somewhere on the command line. */
export type Completion =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" }
  | { readonly kind: "folders" }
  | { readonly kind: "anything" };

export interface FlagShape {
  readonly name: string;
  readonly short?: string;
  readonly help: string;
  /** Undefined: it takes no value, or only behind "=". */
  readonly value: Completion | undefined;
}

export interface CommandShape {
  readonly name: string;
  readonly summary: string;
  /** The words that may follow the command, such as pods and node. */
  readonly words: readonly string[];
  readonly takesPods: boolean;
  readonly takesFiles: boolean;
  readonly flags: readonly FlagShape[];
}

export function commandShapes(commands: readonly Command[]): readonly CommandShape[] {
  return commands.map((command) => {
    const shape = commandShape(command);
    return command.name === "kubelet" ? { ...shape, flags: kubeletFlagShapes() } : shape;
  });
}

function commandShape({ name, summary, usage, flags }: Command): CommandShape {
  const parts = positionalsOf(usage);
  return {
    name,
    summary,
    words: parts.flatMap((part) => (/^[a-z|]+$/.test(part) ? part.split("|") : [])),
    takesPods: parts.includes("POD") || /^(get|describe) pods? \[NAME/.test(usage),
    takesFiles: parts.includes("FILE"),
    flags: Object.entries(flags).map(([flagName, flag]) => flagShape(flagName, flag)),
  };
}

/** What follows the command's name in its usage line, up to its flags and what follows "--". */
function positionalsOf(usage: string): readonly string[] {
  const parts: string[] = [];
  for (const part of usage.split(" ").slice(1)) {
    const bare = part.replaceAll(/[[\]]|\.\.\./g, "");
    if (bare.startsWith("-") || bare === "flags" || bare.includes("'")) break;
    parts.push(bare);
  }
  return parts;
}

function flagShape(name: string, flag: Flag): FlagShape {
  return {
    name,
    ...(flag.short === undefined ? {} : { short: flag.short }),
    help: flag.help,
    value: flag.kind === "toggle" || !takesNextWord(flag) ? undefined : valueOf(flag),
  };
}

function valueOf(flag: Exclude<Flag, { kind: "toggle" }>): Completion {
  if (flag.kind === "text" && flag.choices !== undefined) {
    return { kind: "words", words: flag.choices };
  }
  switch (flag.value) {
    case "PATH":
    case "FILE":
      return { kind: "files" };
    case "DIR":
      return { kind: "folders" };
    default:
      return { kind: "anything" };
  }
}

function kubeletFlagShapes(): readonly FlagShape[] {
  return kubeletFlags.map(({ name, shorthand, type }) => ({
    name,
    ...(shorthand === undefined || shorthand === name ? {} : { short: shorthand }),
    help: "",
    value: type === "bool" ? undefined : kubeletValue(name),
  }));
}

function kubeletValue(name: string): Completion {
  if (/(dir|-path)$/.test(name)) return { kind: "folders" };
  if (/(config|file|kubeconfig)$/.test(name)) return { kind: "files" };
  return { kind: "anything" };
}
