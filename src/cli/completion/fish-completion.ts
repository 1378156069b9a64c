import type { CommandShape, FlagShape } from "./command-shape.ts";

/** One `complete` line of fish for each command, word and flag. */
export function fishCompletion(commands: readonly CommandShape[]): string {
  return [
    "# fish completion for berth; printed by `berth completion fish`",
    "function __berth_pods",
    "    berth get pods -o name 2>/dev/null | string replace 'pod/' ''",
    "end",
    "complete -c berth -f",
    ...commands.flatMap(commandLines),
    "",
  ].join("\n");
}

function commandLines(command: CommandShape): string[] {
  const { name, summary, words, takesPods, takesFiles, flags } = command;
  const inside = `-n '__fish_seen_subcommand_from ${name}'`;
  const noWord =
    words.length === 0
      ? inside
      : `-n '__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words.join(" ")}'`;
  return [
    `complete -c berth -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...(words.length === 0 ? [] : [`complete -c berth ${noWord} -a '${words.join(" ")}'`]),
    ...(takesPods ? [`complete -c berth ${inside} -a '(__berth_pods)'`] : []),
    ...(takesFiles ? [`complete -c berth ${inside} -F`] : []),
    ...[...flags, helpFlag].map((flag) => `complete -c berth ${inside}${flagPart(flag)}`),
  ];
}

const helpFlag: FlagShape = {
  name: "help",
  short: "h",
  help: "Show this help.",
  value: undefined,
};

function flagPart({ name, short, help, value }: FlagShape): string {
  const spelling = `${short === undefined ? "" : ` -s ${short}`} -l ${name}`;
  const text = help === "" ? "" : ` -d ${quoted(help)}`;
  switch (value?.kind) {
    case undefined:
      return `${spelling}${text}`;
    case "words":
      return `${spelling} -x -a '${value.words.join(" ")}'${text}`;
    case "files":
      return `${spelling} -r -F${text}`;
    case "folders":
      return `${spelling} -x -a '(__fish_complete_directories)'${text}`;
    case "anything":
      return `${spelling} -x${text}`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
