// The endpoints about the node as a whole.
import { errorText } from "../../lib/error-text.ts";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { MetricsPages, RunningPod } from "../../ports/kubelet-host.ts";
import { podListText } from "../pod-list-text.ts";
import { type KubeletExchange, sendJsonText, sendPlain, sendRefusal } from "./answers.ts";

const prometheusText = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
const debuggingWarning =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

/** /pods: what is wanted, with its statuses. */
export async function answerPods(
  agent: AgentCalls,
  { response, signal }: KubeletExchange,
): Promise<void> {
  sendJsonText(response, await agent.listPods(undefined, signal));
}

/** /runningpods/: what the runtime has. */
export async function answerRunningPods(
  agent: AgentCalls,
  { response, signal }: KubeletExchange,
): Promise<void> {
  const pods = await agent.listRunningPods(undefined, signal);
  sendJsonText(response, podListText(pods.map(runningItem)));
}

function runningItem({ name, namespace, uid, containers }: RunningPod): object {
  const specs = containers.map((container) => ({ ...container, resources: {} }));
  return {
    metadata: { name, namespace, uid },
    spec: { containers: specs.length === 0 ? null : specs },
    status: {},
  };
}

/** /stats/summary */
export async function answerSummary(
  agent: AgentCalls,
  { query, response, signal }: KubeletExchange,
): Promise<void> {
  const asked = query.get("only_cpu_and_memory") ?? [];
  const cpuAndMemoryOnly = asked.length === 1 && asked[0] === "true";
  try {
    sendJsonText(response, await agent.readSummary({ cpuAndMemoryOnly }, signal));
  } catch (error) {
    sendPlain(response, 500, `Internal Error: ${errorText(error)}`);
  }
}

/** A page of metrics. */
export async function answerMetrics(
  agent: AgentCalls,
  page: keyof MetricsPages,
  { response, signal }: KubeletExchange,
): Promise<void> {
  const text = await agent.readMetrics({ page }, signal);
  sendPlain(response, 200, text, { "Content-Type": prometheusText });
}

/** /configz: the configuration that is in effect. */
export function answerConfiguration(configText: string, { response }: KubeletExchange): void {
  sendJsonText(response, configText, {
    "X-Content-Type-Options": "nosniff",
  });
}

/** /flagz: the flags that are in effect. */
export function answerFlags(
  flags: ReadonlyMap<string, string>,
  { response }: KubeletExchange,
): void {
  const lines = [...flags].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = lines.map(([name, value]) => `${name}:${value}\n`).join("");
  sendPlain(response, 200, `\nkubelet flagz\n${debuggingWarning}\n${text}`);
}

export interface StatusFacts {
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly version: string;
  readonly paths: readonly string[];
}

/** /statusz: since when what runs. */
export function answerStatus(facts: StatusFacts, { response }: KubeletExchange): void {
  const { startedAtMs, nowMs, version, paths } = facts;
  const upSeconds = Math.max(0, Math.floor((nowMs - startedAtMs) / 1000));
  const two = (count: number): string => String(count).padStart(2, "0");
  const up = `${Math.floor(upSeconds / 3600)} hr ${two(Math.floor(upSeconds / 60) % 60)} min ${two(upSeconds % 60)} sec`;
  const lines = [
    "",
    "kubelet statusz",
    debuggingWarning,
    "",
    `Started= ${unixDate(startedAtMs)}`,
    `Up= ${up}`,
    `Node.js version= ${process.version}`,
    `Binary version= ${version}`,
    `Paths= ${paths.join(" ")}`,
  ];
  sendPlain(response, 200, `${lines.join("\n")}\n`);
}

/** As in "Sun Nov 15 19:35:02 UTC 2026". */
function unixDate(ms: number): string {
  const [weekday = "", day, month, year, time] = new Date(ms).toUTCString().split(" ");
  return `${weekday.replace(",", "")} ${month} ${day} ${time} UTC ${year}`;
}

/** /debug/flags/v: the verbosity of the log. */
export async function answerVerbosity(
  agent: AgentCalls,
  { request, response, signal }: KubeletExchange,
): Promise<void> {
  const answer = (status: number, text: string): void =>
    sendRefusal(response, status, text, { "Content-Type": "text/plain" });
  if (request.method !== "PUT") {
    answer(406, "unsupported http method");
    return;
  }
  const text = (await readSmallBody(request)) ?? "";
  if (!/^\d{1,4}$/.test(text)) {
    answer(400, `failed set klog.logging.verbosity ${text.slice(0, 20)}: not a number`);
    return;
  }
  await agent.setVerbosity({ level: Number(text) }, signal);
  answer(200, `successfully set klog.logging.verbosity to ${text}`);
}

async function readSmallBody(request: KubeletExchange["request"]): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > 1024) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
