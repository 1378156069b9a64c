// Fails when a regular expression of src takes more than linear time for some text: most of them meet text from outside, and
// one that backtracks holds up the whole agent. usage: node tools/regular-expressions/main.mjs [FILE...]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "oxc-parser";
import { exceptions } from "./exceptions.mjs";

// Without Java or a native program, which not every machine has.
process.env["RECHECK_SYNC_BACKEND"] = "pure";
const { checkSync } = await import("recheck");

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const timeoutMs = 120_000;
// Judged by steps, which are the same on every machine: on one with other work, time makes linear expressions suspect.
const bySteps = { attackTimeout: null, incubationTimeout: null };

const given = process.argv.slice(2);
const files = given.length > 0 ? given : sourceFiles();
const unused = new Set(given.length > 0 ? [] : exceptions);
const problems = [];
let count = 0;
const verdicts = new Map();

for (const file of files) {
  const text = readFileSync(join(root, file), "utf8");
  for (const found of regularExpressions(file, text)) {
    count++;
    const exception = exceptions.find((one) => one.file === file && one.pattern === found.pattern);
    unused.delete(exception);
    const problem = exception === undefined ? problemOf(found) : undefined;
    if (problem === undefined) continue;
    const line = text.slice(0, found.start).split("\n").length;
    problems.push(`${file}:${line}: ${found.pattern}: ${problem}`);
  }
}
for (const { file, pattern } of unused)
  problems.push(`${file}: ${pattern}: no such exception is needed`);

for (const problem of problems) console.error(problem);
console.log(`${count} regular expressions, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function sourceFiles() {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter(
      (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.includes("generated/"),
    )
    .map((name) => relative(root, join(root, "src", name)))
    .toSorted();
}

/** Literals, and what is made by RegExp() from a text; `flags` is undefined where the pattern is put together as it runs. */
function regularExpressions(file, text) {
  const { program } = parseSync(file, text);
  const constants = topLevelConstants(program);
  const found = [];
  const construct = ({ callee, arguments: args, start }) => {
    if (callee.type !== "Identifier" || callee.name !== "RegExp") return;
    const [pattern, flags] = args.map((node) => textOf(node, constants));
    const isConstant = pattern !== undefined && (args.length < 2 || flags !== undefined);
    if (isConstant) found.push({ pattern, flags: flags ?? "", start });
    else found.push({ pattern: text.slice(args[0].start, args[0].end), flags: undefined, start });
  };
  const visitor = new Visitor({
    Literal: ({ regex, start }) => {
      if (regex) found.push({ ...regex, start });
    },
    NewExpression: construct,
    CallExpression: construct,
  });
  visitor.visit(program);
  return found;
}

/** What the file's own constants are initialized with, by name. */
function topLevelConstants({ body }) {
  const declarations = body
    .map((node) => (node.type === "ExportNamedDeclaration" ? node.declaration : node))
    .filter((node) => node?.type === "VariableDeclaration" && node.kind === "const")
    .flatMap((node) => node.declarations);
  return new Map(declarations.map(({ id, init }) => [id.name, init]));
}

/** The text that an expression always is; undefined when that shows only as it runs. */
function textOf(node, constants) {
  switch (node?.type) {
    case "Literal":
      return typeof node.value === "string" ? node.value : undefined;
    case "Identifier":
      return textOf(constants.get(node.name), constants);
    case "TemplateLiteral": {
      const values = node.expressions.map((expression) => textOf(expression, constants));
      if (values.includes(undefined)) return undefined;
      return node.quasis.map(({ value }, index) => value.cooked + (values[index] ?? "")).join("");
    }
    default:
      return undefined;
  }
}

function problemOf({ pattern, flags }) {
  if (flags === undefined)
    return "is put together as it runs: name it in exceptions.mjs with the reason why it is safe";
  const key = `/${pattern}/${flags}`;
  if (!verdicts.has(key)) verdicts.set(key, judge(pattern, flags));
  return verdicts.get(key);
}

function judge(pattern, flags) {
  const verdict = checkSync(pattern, flags, { timeout: timeoutMs, ...bySteps });
  if (verdict.status === "safe") return undefined;
  if (verdict.status === "unknown") return `cannot be judged (${verdict.error.kind})`;
  return `takes ${verdict.complexity.summary} time, for example for ${verdict.attack.pattern}`;
}
