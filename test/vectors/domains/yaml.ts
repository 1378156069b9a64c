import { nodeText } from "../../../src/lib/json-node.ts";
import { parseYaml } from "../../../src/lib/yaml/parse-yaml.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly text: string;
}

interface Answer {
  readonly json?: string;
  readonly error?: string;
}

export const yaml: VectorDomain = vectorDomain<Input>("yaml", run, comparable);

function run({ text }: Input): Answer {
  const parsed = parseYaml(text);
  if (parsed.ok) return { json: nodeText(parsed.value) };
  const { message, at } = parsed.error;
  const problem = message.replace(/^yaml: line \d+: /, "");
  const line = lineNamedByGo(problem, at.line);
  return { error: line > 0 ? `yaml: line ${line}: ${problem}` : `yaml: ${problem}` };
}

/** The value, or the line of the refusal: its words are Go's. */
function comparable(answer: unknown): unknown {
  const { json, error = "" } = answer as Answer;
  if (json !== undefined) return { value: JSON.parse(json) };
  return { line: /^yaml: line (\d+): /.exec(error)?.[1] ?? "not named" };
}

/** What Go's parser finds is named one line too early, and what its decoder or reader finds without a line. */
const namedTooEarly: ReadonlySet<string> = new Set([
  "did not find expected <document start>",
  "did not find expected '-' indicator",
  "did not find expected key",
  "did not find expected ',' or ']'",
  "did not find expected ',' or '}'",
  "did not find expected node content",
  "found undefined tag handle",
  "found duplicate %YAML directive",
  "found incompatible YAML document",
  "found duplicate %TAG directive",
]);

const namedWithoutLine =
  /^(?:control characters|unknown anchor|anchor '|invalid map key|map merge|document contains|a number of JSON|!!binary|the value of this)/;

/** Nothing is said about the first line. */
function lineNamedByGo(problem: string, line: number): number {
  if (namedWithoutLine.test(problem)) return 0;
  if (namedTooEarly.has(problem)) return line - 1;
  return line > 1 ? line : 0;
}
