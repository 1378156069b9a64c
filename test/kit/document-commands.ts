// The commands that README.md and docs show their readers.
import { readdirSync, readFileSync } from "node:fs";

export interface DocumentBlock {
  readonly file: string;
  readonly line: number;
  /** What follows the fence, such as sh or yaml; empty for text and sessions. */
  readonly language: string;
  readonly text: string;
}

export interface DocumentCommand {
  readonly file: string;
  readonly line: number;
  /** As it is written, on one line. */
  readonly text: string;
}

export function documentFiles(): readonly string[] {
  const docs = readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
  return ["README.md", "CONTRIBUTING.md", ...docs.toSorted()];
}

export function documentBlocks(file: string): readonly DocumentBlock[] {
  const blocks: DocumentBlock[] = [];
  let open:
    | { readonly line: number; readonly language: string; readonly lines: string[] }
    | undefined;
  for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
    const fence = /^\s*```(\S*)/.exec(line);
    if (fence === null) {
      open?.lines.push(line);
    } else if (open === undefined) {
      open = { line: index + 2, language: fence[1] ?? "", lines: [] };
    } else {
      blocks.push({ file, line: open.line, language: open.language, text: open.lines.join("\n") });
      open = undefined;
    }
  }
  return blocks;
}

const programs = /^(?:sudo |\S+=\S+ )*(?:berth|npm|npx|node|curl|tar|kubectl|systemctl) /;

/** The lines of a block that a reader would type; behind "$" where it also shows what is printed. */
export function commandsOf({
  file,
  line,
  language,
  text,
}: DocumentBlock): readonly DocumentCommand[] {
  const isShell = ["sh", "bash", "shell", "console"].includes(language);
  if (language !== "" && !isShell) return [];
  const lines = text.split("\n");
  const isSession = lines.some((one) => /^\s*\$ /.test(one));
  return lines.flatMap((_, index) => {
    // What goes on behind a backslash belongs to the line before.
    if (lines[index - 1]?.endsWith("\\") === true) return [];
    const typed = joined(lines, index);
    const isTyped = isSession ? typed.startsWith("$ ") : isShell || programs.test(typed);
    if (!isTyped || typed === "" || typed.startsWith("#")) return [];
    const command = typed.replace(/^\$ /, "").replace(/\s+# .*$/, "");
    return [{ file, line: line + index, text: command }];
  });
}

function joined(lines: readonly string[], index: number): string {
  const line = (lines[index] ?? "").trim();
  return line.endsWith("\\") ? `${line.slice(0, -1).trim()} ${joined(lines, index + 1)}` : line;
}

/** Commands in running text: what stands between backticks and begins like one. */
export function inlineCommands(file: string): readonly DocumentCommand[] {
  let isBlock = false;
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line, index) => {
      if (/^\s*```/.test(line)) isBlock = !isBlock;
      if (isBlock) return [];
      const spans = [...line.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);
      return spans
        .filter((text) => /^(?:sudo )?(?:berth |npm run |node tools\/|npx )\S/.test(text))
        .map((text) => ({ file, line: index + 1, text }));
    });
}

/** The words of each simple command of a line, as a shell splits them; what is redirected where is left out. */
export function simpleCommands(text: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let isRedirection = false;
  const end = (): void => {
    if (word !== undefined && !isRedirection) commands.at(-1)?.push(word);
    if (word !== undefined) isRedirection = false;
    word = undefined;
  };
  const token =
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(&&|\|\||[<>]\(|[|;&()])|(\d?[<>]+&?)|(\s+)|([^\s'"\\|;&()<>]+)/gs;
  for (const [, single, double, escaped, operator, redirection, , plain] of text.matchAll(token)) {
    const part = single ?? double ?? escaped ?? plain;
    if (part !== undefined) {
      word = (word ?? "") + part;
      continue;
    }
    end();
    if (operator !== undefined) commands.push([]);
    if (redirection !== undefined) isRedirection = true;
  }
  end();
  return commands.map(withoutPrefix).filter((words) => words.length > 0);
}

/** Without sudo and settings of the environment; `node dist/berth.js` is berth. */
function withoutPrefix(words: readonly string[]): readonly string[] {
  const [first = "", second, ...rest] = words;
  if (first === "sudo" || /^[A-Z_]+=/.test(first)) return withoutPrefix(words.slice(1));
  return first === "node" && second === "dist/berth.js" ? ["berth", ...rest] : words;
}
