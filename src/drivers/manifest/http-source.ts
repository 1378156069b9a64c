import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { sleep, timeoutSignal } from "../../lib/timers.ts";
import { parseYaml } from "../../lib/yaml/parse-yaml.ts";
import { withoutDocument } from "../../model/manifest/object-kind.ts";
import type { PlacedProblem } from "../../model/manifest/placed-problem.ts";
import { type PodText, parsePodListText, parsePodText } from "../../model/manifest/pod-text.ts";
import type { StaticPodPlace } from "../../model/manifest/static-pod.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSource, SourceProblem, SourceSink } from "../../ports/pod-source.ts";
import type { ManifestMode } from "./parse-file.ts";

export interface HttpSourceOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly nodeName: string;
  readonly mode: ManifestMode;
  /** How often the URL is read. */
  readonly frequencyMs?: number;
}

const defaultFrequencyMs = 20_000;
const requestTimeoutMs = 10_000;
const maxBodyBytes = 10 * 1024 * 1024;

/** Pods from a URL that holds one pod or a list of pods. */
export function createHttpSource(options: HttpSourceOptions): PodSource {
  return {
    name: "http",
    run: (sink, signal) => runHttpSource(options, sink, signal),
  };
}

async function runHttpSource(
  options: HttpSourceOptions,
  sink: SourceSink,
  signal: AbortSignal,
): Promise<void> {
  let body: string | undefined;
  // Before the first answer nothing is delivered: an unreachable URL does not count as an empty list of pods.
  let pods: readonly Pod[] | undefined;
  let unknownFields: readonly SourceProblem[] = [];
  let parseProblems: readonly SourceProblem[] = [];
  let lastProblem: string | undefined;
  while (!signal.aborted) {
    const read = await readBody(options, signal);
    if (signal.aborted) return;
    if (read.ok && read.value !== body) {
      body = read.value;
      const outcome = parseBody(read.value, options);
      pods = outcome.pods ?? pods;
      unknownFields = outcome.unknownFields ?? unknownFields;
      parseProblems = outcome.problems;
    }
    const problems = read.ok ? parseProblems : [{ origin: options.url, message: read.error }];
    const text = JSON.stringify([pods, problems]);
    if (text !== lastProblem) {
      lastProblem = text;
      if (pods === undefined) sink.report(problems);
      else {
        sink.deliver({
          pods,
          configMaps: [],
          secrets: [],
          problems,
          unknownFields,
          ignored: [],
        });
      }
    }
    await sleep(options.frequencyMs ?? defaultFrequencyMs, signal).catch(() => undefined);
  }
}

/** The pods of an answer; none when it is of no use, so that those before it stay. */
interface Outcome {
  readonly pods?: readonly Pod[];
  readonly unknownFields?: readonly SourceProblem[];
  readonly problems: readonly SourceProblem[];
}

function parseBody(body: string, { url, nodeName, mode }: HttpSourceOptions): Outcome {
  if (body === "") {
    const message = `zero-length data received from ${url}`;
    return { pods: [], problems: [{ origin: url, message }] };
  }
  const parsed = parsePods(body, { url, nodeName, isResizable: mode === "up" });
  if (!parsed.ok) return { problems: [parsed.error] };
  const { pods } = parsed.value;
  const unknownFields = parsed.value.unknownFields.map((problem) => problemOf(url, problem));
  if (mode === "up" && unknownFields.length > 0) return { problems: unknownFields };
  return { pods, unknownFields, problems: [] };
}

function parsePods(
  text: string,
  { url, ...where }: { readonly url: string } & Pick<StaticPodPlace, "nodeName" | "isResizable">,
): Result<PodText, SourceProblem> {
  const place = { ...where, origin: { kind: "url", url }, allowedReferences: "none" } as const;
  const single = parsePodText(text, place, parseYaml);
  if (single.ok) return single;
  if (single.error.isPod) return err(problemOf(url, single.error));
  const list = parsePodListText(text, place, parseYaml);
  if (list.ok) return list;
  if (list.error.isPod) return err(problemOf(url, list.error));
  const message = `couldn't parse as single (${single.error.message}) or multiple pods (${list.error.message})`;
  return err(problemOf(url, { ...list.error, message }));
}

function problemOf(origin: string, { message, field, at }: PlacedProblem): SourceProblem {
  return { origin, ...at, field, message: withoutDocument(message) };
}

/** The body of a successful answer, bounded in size and time. */
async function readBody(
  { url, headers }: HttpSourceOptions,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  try {
    const response = await fetch(url, {
      headers: Object.entries(headers).flatMap(([name, values]) =>
        values.map((value): [string, string] => [name, value]),
      ),
      signal: AbortSignal.any([signal, timeoutSignal(requestTimeoutMs)]),
    });
    const text = await readBounded(response);
    if (text === undefined) return err(`${url}: the answer is larger than ${maxBodyBytes} bytes`);
    if (response.status !== 200) return err(`${url}: ${response.status} ${response.statusText}`);
    return ok(text);
  } catch (error) {
    return err(`${url}: ${requestError(error)}`);
  }
}

async function readBounded(response: Response): Promise<string | undefined> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What went wrong below fetch is the cause of its own, general error. */
function requestError(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${errorText(error)}: ${cause.message}` : errorText(error);
}
