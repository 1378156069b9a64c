import type { CommandShape, Completion, FlagShape } from "./command-shape.ts";

/** A function for zsh's completion system; works sourced and as a file of $fpath. */
export function zshCompletion(commands: readonly CommandShape[]): string {
  return [
    "#compdef berth",
    "# zsh completion for berth; printed by `berth completion zsh`",
    "_berth_pods() {",
    "  local -a pods",
    `  pods=($(berth get pods -o name 2>/dev/null | sed 's|^pod/||'))`,
    "  compadd -a pods",
    "}",
    "_berth() {",
    "  local -a commands",
    "  commands=(",
    ...commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`),
    "  )",
    "  if (( CURRENT == 2 )); then",
    "    _describe command commands",
    "    return",
    "  fi",
    "  shift words",
    "  (( CURRENT-- ))",
    '  case "$words[1]" in',
    ...commands.flatMap(commandBranch),
    "  esac",
    "}",
    'if [ "$funcstack[1]" = _berth ]; then _berth "$@"; else compdef _berth berth; fi',
    "",
  ].join("\n");
}

function commandBranch(command: CommandShape): string[] {
  const { name, words, takesPods, takesFiles, flags } = command;
  const specs = [
    ...flags.flatMap(flagSpecs),
    "'(-h --help)'{-h,--help}'[Show this help.]'",
    ...(words.length === 0 ? [] : [quoted(`1:what:(${words.join(" ")})`)]),
    ...(takesPods ? [quoted("*:pod:_berth_pods")] : []),
    ...(takesFiles ? [quoted("*:file:_files")] : []),
  ];
  return [`    ${name}) _arguments -s \\`, `      ${specs.join(" \\\n      ")} ;;`];
}

function flagSpecs({ name, short, help, value }: FlagShape): string[] {
  const text = help === "" ? "" : `[${help.replaceAll(/[[\]:]/g, "\\$&")}]`;
  const action = value === undefined ? "" : `:value:${valueAction(value)}`;
  const long = quoted(`*--${name}${value === undefined ? "" : "="}${text}${action}`);
  return short === undefined ? [long] : [long, quoted(`*-${short}${text}${action}`)];
}

function valueAction(value: Completion): string {
  switch (value.kind) {
    case "words":
      return `(${value.words.join(" ")})`;
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    case "anything":
      return "";
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
