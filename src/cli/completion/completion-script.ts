import type { Command } from "../command.ts";
import { bashCompletion } from "./bash-completion.ts";
import { commandShapes } from "./command-shape.ts";
import { fishCompletion } from "./fish-completion.ts";
import { zshCompletion } from "./zsh-completion.ts";

const scripts = new Map([
  ["bash", bashCompletion],
  ["zsh", zshCompletion],
  ["fish", fishCompletion],
]);

/** The script for that shell; undefined for a shell that there is none for. */
export function completionScript(shell: string, commands: readonly Command[]): string | undefined {
  return scripts.get(shell)?.(commandShapes(commands));
}
