import type { CommandShape, Completion, FlagShape } from "./command-shape.ts";

/** A bash function that completes `berth`, with nothing of the package bash-completion. */
export function bashCompletion(commands: readonly CommandShape[]): string {
  const names = commands.map(({ name }) => name);
  return [
    "# bash completion for berth; printed by `berth completion bash`",
    "_berth() {",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"`,
    "  COMPREPLY=()",
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W ${quoted(names)} -- "$current"))`,
    "    return",
    "  fi",
    `  case "\${COMP_WORDS[1]}" in`,
    ...commands.flatMap(commandBranch),
    "  esac",
    "}",
    "_berth_files() {",
    "  compopt -o filenames",
    '  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")',
    "}",
    "_berth_pods() {",
    `  COMPREPLY+=($(compgen -W "$(berth get pods -o name 2>/dev/null | sed 's|^pod/||')" -- "$1"))`,
    "}",
    "complete -F _berth berth",
    "",
  ].join("\n");
}

function commandBranch({ name, flags, words, takesPods, takesFiles }: CommandShape): string[] {
  const withValue = flags.filter(({ value }) => value !== undefined);
  const flagNames = [...flags.map((flag) => `--${flag.name}`), "--help"];
  return [
    `    ${name})`,
    ...(withValue.length === 0
      ? []
      : ['      case "$previous" in', ...valueBranches(withValue), "      esac"]),
    '      case "$current" in',
    `        -*) COMPREPLY=($(compgen -W ${quoted(flagNames)} -- "$current")); return ;;`,
    "      esac",
    ...(words.length === 0
      ? []
      : [
          `      if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W ${quoted(words)} -- "$current")); return; fi`,
        ]),
    ...(takesPods ? ['      _berth_pods "$current"'] : []),
    ...(takesFiles ? ['      _berth_files -f "$current"'] : []),
    "      ;;",
  ];
}

/** Flags that are completed alike share a branch. */
function valueBranches(flags: readonly FlagShape[]): string[] {
  const namesByAction = new Map<string, string[]>();
  for (const { name, short, value } of flags) {
    const action = valueAction(value);
    const names = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
    namesByAction.set(action, [...(namesByAction.get(action) ?? []), ...names]);
  }
  return [...namesByAction].map(
    ([action, names]) => `        ${names.join("|")}) ${action}return ;;`,
  );
}

function valueAction(value: Completion | undefined): string {
  switch (value?.kind) {
    case "words":
      return `COMPREPLY=($(compgen -W ${quoted(value.words)} -- "$current")); `;
    case "files":
      return '_berth_files -f "$current"; ';
    case "folders":
      return '_berth_files -d "$current"; ';
    default:
      return "";
  }
}

function quoted(words: readonly string[]): string {
  return `'${words.join(" ")}'`;
}
