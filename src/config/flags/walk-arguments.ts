import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type KubeletFlag, kubeletFlags } from "../generated/kubelet-flags.ts";

const byName: ReadonlyMap<string, KubeletFlag> = new Map(
  kubeletFlags.map((flag) => [flag.name, flag]),
);
const byLetter: ReadonlyMap<string, KubeletFlag> = new Map(
  kubeletFlags.flatMap((flag) => (flag.shorthand === undefined ? [] : [[flag.shorthand, flag]])),
);

/** Takes one flag's value; answers why it cannot be. */
export type SetFlag = (flag: KubeletFlag, value: string) => string | undefined;

/** Passes every flag of a command line to `set`, in order; returns the arguments that are not flags. */
export function walkArguments(
  args: readonly string[],
  set: SetFlag,
): Result<readonly string[], string> {
  const positionals: string[] = [];
  const rest = [...args];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === "--") return ok([...positionals, ...rest]);
    if (!next.startsWith("-") || next === "-") {
      positionals.push(next);
      continue;
    }
    const problem = next.startsWith("--") ? readLong(next, rest, set) : readShort(next, rest, set);
    if (problem !== undefined) return err(problem);
  }
  return ok(positionals);
}

function readLong(text: string, rest: string[], set: SetFlag): string | undefined {
  const [, name = "", value] = /^--([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === "" || name.startsWith("-")) return `bad flag syntax: ${text}`;
  const flag = byName.get(name.replaceAll("_", "-"));
  if (flag === undefined) return `unknown flag: --${name}`;
  const given = value ?? flag.noOptDefault ?? rest.shift();
  return given === undefined ? `flag needs an argument: --${name}` : assign(flag, given, set);
}

/** One letter or several: -v=2, -v2, -v 2. */
function readShort(text: string, rest: string[], set: SetFlag): string | undefined {
  let letters = text.slice(1);
  while (letters !== "") {
    const letter = letters.slice(0, 1);
    const flag = byLetter.get(letter);
    if (flag === undefined) {
      return `unknown shorthand flag: ${quoteLetter(letter)} in -${letters}`;
    }
    const after = letters.slice(1);
    const hasValue = letters.length > 2 && letters[1] === "=";
    const isOptional = flag.noOptDefault !== undefined;
    const given = hasValue
      ? after.slice(1)
      : (flag.noOptDefault ?? (after === "" ? rest.shift() : after));
    if (given === undefined) return `flag needs an argument: ${quoteLetter(letter)} in -${letters}`;
    const problem = assign(flag, given, set);
    if (problem !== undefined) return problem;
    letters = isOptional && !hasValue ? after : "";
  }
  return undefined;
}

function assign(flag: KubeletFlag, value: string, set: SetFlag): string | undefined {
  const problem = set(flag, value);
  if (problem === undefined) return undefined;
  const name = flag.shorthand === undefined ? "" : `-${flag.shorthand}, `;
  return `invalid argument ${quoteText(value)} for ${quoteText(`${name}--${flag.name}`)} flag: ${problem}`;
}

function quoteLetter(letter: string): string {
  return `'${quoteText(letter).slice(1, -1)}'`;
}
