import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commandTable } from "../src/cli/command-table.ts";
import { parseFlags } from "../src/cli/flags.ts";
import { parseCommandLine } from "../src/config/flags/command-line.ts";
import {
  commandsOf,
  type DocumentCommand,
  documentBlocks,
  documentFiles,
  inlineCommands,
  simpleCommands,
} from "./kit/document-commands.ts";
import { notRun } from "./kit/document-runs.ts";

/** What belongs to every machine. A document that shows another program says first where it comes from. */
const foreign = new Set(
  "apt-get cat cd chmod cp curl echo export install journalctl kubeadm kubectl ln mkdir rm sha256sum source ssh systemctl tar".split(
    " ",
  ),
);
const manifest: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync("package.json", "utf8"),
);

/** What is wrong with a command as a reader would run it; undefined when there is nothing. */
function problemOf([program = "", ...args]: readonly string[]): string | undefined {
  switch (program) {
    case "berth":
      return problemOfBerth(args);
    case "npm":
      return problemOfNpm(args);
    case "node":
      return problemOfFile(args.find((word) => !word.startsWith("-")) ?? "");
    case "npx":
      return args.filter((word) => word.endsWith(".ts")).map(problemOfFile)[0];
    default:
      return foreign.has(program)
        ? undefined
        : `${program} belongs to other software: name it in this test`;
  }
}

function problemOfBerth([name = "", ...args]: readonly string[]): string | undefined {
  if (name === "COMMAND" || name.startsWith("-")) return undefined;
  const command = commandTable.find((candidate) => candidate.name === name);
  if (command === undefined) return `there is no command berth ${name}`;
  const typed = args.filter((word) => word !== "…");
  if (name === "kubelet") {
    const parsed = parseCommandLine(typed.filter((word) => !/^\$|^[A-Z]+$/.test(word)));
    return parsed.ok ? undefined : parsed.error;
  }
  try {
    parseFlags(typed, command.flags);
    return undefined;
  } catch (error) {
    // In running text a flag is also named without its value.
    return String(error).includes("needs a value") ? undefined : String(error);
  }
}

function problemOfNpm([verb = "", name = ""]: readonly string[]): string | undefined {
  const script = verb === "run" ? name : verb;
  if (["install", "test"].includes(verb) || Object.hasOwn(manifest.scripts, script))
    return undefined;
  return `package.json has no script ${script}`;
}

function problemOfFile(path: string): string | undefined {
  return existsSync(path) || path.startsWith("/") ? undefined : `there is no file ${path}`;
}

function problemsOf({ file, line, text }: DocumentCommand): readonly string[] {
  return simpleCommands(text)
    .map(problemOf)
    .flatMap((problem) => (problem === undefined ? [] : [`${file}:${line}: ${text}: ${problem}`]));
}

test.each(documentFiles())("%s shows commands, flags and files that there are", (file) => {
  const commands = [...documentBlocks(file).flatMap(commandsOf), ...inlineCommands(file)];
  expect(commands.flatMap(problemsOf).join("\n")).toBe("");
});

test("every reason not to run a command is about a command that a document shows", () => {
  const commands = documentFiles().flatMap(documentBlocks).flatMap(commandsOf);
  const unused = notRun.filter((one) => !commands.some(({ text }) => one.command.test(text)));
  expect(unused.map(({ command }) => String(command))).toEqual([]);
});

test("a command, a flag, a script or a file that does not exist is noticed", () => {
  const problems = (text: string) => problemsOf({ file: "FILE", line: 1, text });
  expect(problems("sudo berth gett pods")).toHaveLength(1);
  expect(problems("A=b berth get pods --wide | head -1")).toHaveLength(2);
  expect(
    problems("berth exec web -- ls --no-flag-of-berth && berth logs 'a b' --tial 3"),
  ).toHaveLength(1);
  expect(problems("berth kubelet --no-such-flag")).toHaveLength(1);
  expect(problems("npm run nothing")).toHaveLength(1);
  expect(problems("node tools/nothing.mjs > file")).toHaveLength(1);
  expect(problems("berth get pods -o wide")).toEqual([]);
});
