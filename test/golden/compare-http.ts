import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import type { Log } from "../../src/ports/log.ts";
import type { Comparison, ScenarioDifference } from "./compare-scenario.ts";
import { type Difference, valueDifferences } from "./difference.ts";
import type { GoldenWorld } from "./golden-world.ts";
import { at, isList, isObject, listAt, textAt } from "./json-path.ts";
import { type HttpAnswer, type KubeletApi, serveGoldenApi } from "./kubelet-api.ts";
import { type MetricFamily, parseMetricFamilies } from "./metric-families.ts";
import { type Json, loadRecording } from "./recording.ts";
import { withPods } from "./run-scenario.ts";

/** An answer of the recorded kubelet; of a page of metrics only its families are kept. */
interface RecordedAnswer {
  readonly path: string;
  readonly case?: string;
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly body?: Json;
  readonly families?: Readonly<Record<string, MetricFamily>>;
}

const RECORDED_WITH = "kubelet-restart";
const POLL_MS = 250;
const MEASURED_TIMEOUT_MS = 60_000;
// Who asks, by the recording's case; everything else was asked by an administrator.
const TOKENS: Readonly<Record<string, string | undefined>> = {
  "bad-token": "invalid",
  "forbidden-node-cert": "node",
  unauthorized: undefined,
};
/** Where bodies of text say something of the build or the moment. */
const OWN_TEXTS: ReadonlySet<string> = new Set(["flagz", "statusz", "containerLogs"]);

/** Asks the kubelet's API of Berth what the recorded kubelet was asked, while the same pods run. */
export async function compareHttp(world: GoldenWorld, log: Log): Promise<Comparison> {
  const answers = loadAnswers();
  const config = answers["configz"]?.body;
  if (!isObject(config)) throw new Error("the recordings have no /configz");
  const differences = await withPods(world, loadRecording(RECORDED_WITH), async () => {
    const api = await serveGoldenApi(world, config["kubeletconfig"] ?? {}, log);
    try {
      await untilMeasured(api);
      return await compareAll(answers, api);
    } finally {
      await api.stop();
    }
  });
  return { calls: 0, requests: Object.keys(answers).length, differences };
}

/** Rates are known from the second reading on, volumes once measured: waits until all of it is there. */
async function untilMeasured(api: KubeletApi): Promise<void> {
  const deadlineMs = Date.now() + MEASURED_TIMEOUT_MS;
  for (;;) {
    const { body } = await api.ask("/stats/summary", "admin");
    const summary = JSON.parse(body) as Json;
    const containers = listAt(summary, "pods").flatMap((pod) => listAt(pod, "containers"));
    const isRated = (container: Json) => at(container, "cpu", "usageNanoCores") !== undefined;
    const metrics = await api.ask("/metrics", "admin");
    const hasVolumes = metrics.body.includes("kubelet_volume_metric_collection_duration_seconds");
    if (containers.length > 0 && containers.every(isRated) && hasVolumes) return;
    if (Date.now() > deadlineMs) throw new Error("the pods' statistics have no rates in time");
    await delay(POLL_MS);
  }
}

async function compareAll(
  answers: Readonly<Record<string, RecordedAnswer>>,
  api: KubeletApi,
): Promise<readonly ScenarioDifference[]> {
  const differences: ScenarioDifference[] = [];
  for (const [name, recorded] of Object.entries(answers)) {
    const asker = recorded.case ?? "admin";
    const token = asker in TOKENS ? TOKENS[asker] : "admin";
    const answer =
      name === "healthz-plain"
        ? await api.askHealth(recorded.path)
        : await api.ask(recorded.path, token);
    differences.push(
      ...compareAnswer(name, recorded, answer).map((difference) => ({ ...difference, pod: name })),
    );
  }
  return differences;
}

function compareAnswer(
  name: string,
  recorded: RecordedAnswer,
  berth: HttpAnswer,
): readonly Difference[] {
  const type = recorded.contentType ?? recorded.headers?.["content-type"];
  const head = [
    ...valueDifferences("status", recorded.code, berth.status),
    ...valueDifferences(
      "content-type",
      type,
      String(berth.headers["content-type"] ?? "") || undefined,
    ),
    ...valueDifferences(
      "x-content-type-options",
      recorded.headers?.["x-content-type-options"],
      recorded.headers === undefined
        ? undefined
        : berth.headers["x-content-type-options"]?.toString(),
    ),
  ];
  if (recorded.families !== undefined) {
    return [...head, ...familyDifferences(recorded.families, berth.body)];
  }
  if (typeof recorded.body === "string") {
    return OWN_TEXTS.has(name)
      ? head
      : [...head, ...valueDifferences("body", recorded.body, berth.body)];
  }
  const body = parsed(berth.body);
  const differences =
    name === "configz"
      ? valueDifferences("body", recorded.body, body)
      : valueDifferences("body", shapes(recorded.body ?? null), shapes(body));
  return [...head, ...differences];
}

function parsed(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return body;
  }
}

/** Which families a page has, and what those are that both have. */
function familyDifferences(
  recorded: Readonly<Record<string, MetricFamily>>,
  page: string,
): readonly Difference[] {
  const berth = parseMetricFamilies(page);
  return [...new Set([...Object.keys(recorded), ...berth.keys()])].flatMap((name) => {
    const left = recorded[name];
    const right = berth.get(name);
    if (right === undefined) return valueDifferences(`without ${name}`, left?.type, undefined);
    if (left === undefined) return valueDifferences(`with ${name}`, undefined, right.type);
    return valueDifferences(name, described(left), described(right));
  });
}

function described({ type, stability, labels, buckets }: MetricFamily): Json {
  return {
    type,
    stability: stability ?? "",
    labels,
    ...(buckets === undefined ? {} : { buckets }),
  };
}

/** What kinds of values stand where: lists of named things by name, other lists by their first element. */
function shapes(value: Json): Json {
  if (isList(value)) {
    const names = value.map(nameOf);
    if (names.every((name) => name === "")) return value.slice(0, 1).map(shapes);
    return Object.fromEntries(value.map((element, index) => [names[index] ?? "", shapes(element)]));
  }
  if (!isObject(value)) return typeof value;
  // What is empty may as well be absent.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null && JSON.stringify(inner) !== "{}")
      .map(([key, inner]) => [key, shapes(inner)]),
  );
}

function nameOf(value: Json): string {
  return (
    textAt(value, "metadata", "name") ||
    textAt(value, "podRef", "name") ||
    textAt(value, "name") ||
    textAt(value, "type")
  );
}

function loadAnswers(): Readonly<Record<string, RecordedAnswer>> {
  const packed = readFileSync("test/golden/recordings/http.json.gz");
  return JSON.parse(gunzipSync(packed).toString("utf8")) as Record<string, RecordedAnswer>;
}
