import { err, ok, type Result } from "../../src/lib/result.ts";

/** The words of a command, in quotes where they have blanks. Nothing in it is expanded: no shell reads it. */
export function splitCommand(text: string): Result<readonly string[], string> {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (const character of text) {
    if (quote !== "") {
      if (character === quote) quote = "";
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return err(`the command has no closing ${quote}`);
  if (word !== undefined) words.push(word);
  return words.length === 0 ? err("give a command, such as sh") : ok(words);
}
