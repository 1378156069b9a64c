import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandTable } from "../../src/cli/command-table.ts";
import { completionScript } from "../../src/cli/completion/completion-script.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-completion-"));
  writeFileSync(join(folder, "berth"), "#!/bin/sh\necho pod/web; echo pod/db\n", { mode: 0o755 });
  for (const shell of ["bash", "zsh", "fish"]) {
    writeFileSync(join(folder, `berth.${shell}`), completionScript(shell, commandTable) ?? "");
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Asks the shell itself what may follow the line. */
function completed(shell: keyof typeof askers, line: string): readonly string[] {
  const [program = "", ...args] = askers[shell];
  const environment = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
  const output = execFileSync(program, [...args, folder, line], {
    encoding: "utf8",
    env: environment,
  });
  // fish explains each word behind a tab.
  const words = output.split("\n").map((line) => line.replace(/\t.*/, ""));
  return words.filter((word) => word !== "").toSorted();
}

const askers = {
  bash: [
    "bash",
    "-c",
    'source "$0/berth.bash"; read -ra COMP_WORDS <<< "$1"; [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _berth; printf "%s\\n" "${COMPREPLY[@]}"',
  ],
  fish: ["fish", "-c", 'source $argv[1]/berth.fish; complete -C "$argv[2]"'],
} as const;

describe.each(["bash", "fish"] as const)("completion in %s", (shell) => {
  test.each([
    ["berth wh", ["why"]],
    ["berth get ", shell === "fish" ? ["db", "pods", "web"] : ["pods"]],
    ["berth get pods -o ", ["json", "name", "wide", "yaml"]],
    ["berth logs w", ["web"]],
    ["berth logs --ta", ["--tail"]],
    ["berth kubelet --cert", ["--cert-dir"]],
    ["berth completion z", ["zsh"]],
  ])("completes %s", (line, words) => {
    expect(completed(shell, line)).toEqual(words);
  });
});

describe("completion in zsh", () => {
  /** zsh completes only at a terminal: it is given one, a line is typed, and what it makes of it is run. */
  const typed = (line: string): string =>
    execFileSync("zsh", ["-f", "-c", zshAsker, folder, line], { encoding: "utf8" });
  const zshAsker = [
    "zmodload zsh/zpty; zpty shell zsh -f -i",
    'zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; path=($0 \\$path); source $0/berth.zsh"',
    'zpty -w shell "berth() { print -r -- GOT:\\$*:END }; print READY"; zpty -r shell out "*READY*READY*"',
    "zpty -w shell \"$1\"$'\\t'; zpty -r shell out '*GOT:*:END*'; out=${out##*GOT:}; print -r -- ${out%%:END*}",
  ].join("\n");

  test.each([
    ["berth versi", "version"],
    ["berth get pods -o wi", "get pods -o wide"],
    ["berth completion f", "completion fish"],
  ])("completes %s", (line, words) => {
    expect(typed(line).trim()).toBe(words);
  });
});
