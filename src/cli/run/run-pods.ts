// `berth run`: pods to their end, on a node that is there for them alone.

import { defaultNodeName } from "../../app/node-facts.ts";
import { planRun, RunNode, type RunNodeOptions, type RunPlan } from "../../app/run-node.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import type { ManifestText } from "../../model/manifest/manifest-text.ts";
import { dnsSubdomainProblems } from "../../model/name-format.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import { AgentClient } from "../agent-client.ts";
import { CliError, exitCodes, usageError } from "../exit.ts";
import { followPods } from "../follow-pods.ts";
import { printable } from "../output/colour.ts";
import { placedProblemText } from "../output/problem-text.ts";
import type { Terminal } from "../terminal.ts";
import { awaitedText } from "../why/awaited-text.ts";
import { exitCodeOf, isOver } from "./container-runs.ts";
import { CopyLogs } from "./copy-logs.ts";

/** As `timeout` of coreutils has it. */
const timedOutExitCode = 124;
const interruptedExitCode = 130;
const terminatedExitCode = 143;
const explanationMs = 5_000;

export interface RunOptions extends Omit<RunNodeOptions, "nodeName"> {
  /** Undefined = that of the host. */
  readonly nodeName: string | undefined;
  /** Undefined = however long it takes. */
  readonly timeoutMs: number | undefined;
}

/** Answers the exit code of the command. */
export async function runPods(
  manifests: readonly ManifestText[],
  { timeoutMs, ...options }: RunOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { nodeName = defaultNodeName() } = options;
  const [problem] = dnsSubdomainProblems(nodeName);
  if (problem !== undefined) {
    throw usageError(`flag --node-name: "${nodeName}" is not a node name, ${problem}`);
  }
  const plan = readPlan(manifests, nodeName);
  const node = await RunNode.start(plan, { ...options, nodeName });
  node.followLog((line) => terminal.note(printable(line)));
  const timeout = timeoutMs === undefined ? undefined : timeoutSignal(timeoutMs);
  const run = new PodsRun(plan, new AgentClient(node.socketPath, "berth run"), {
    terminal,
    signal,
  });
  let code: number | undefined;
  try {
    code = await run.untilOver(node, timeout);
    if (code === undefined) code = await run.interruptedBy(timeout);
  } catch (error) {
    // What was wrong at the start is what counts.
    await node.stop().catch(() => undefined);
    if (signal.aborted) return interruptionOf(signal);
    throw error;
  }
  await node.stop();
  return code;
}

function readPlan(manifests: readonly ManifestText[], nodeName: string): RunPlan {
  const plan = planRun(manifests, nodeName);
  if (!plan.ok) throw new CliError(plan.error.map(placedProblemText).join("\n"));
  if (plan.value.pods.length === 0) {
    throw new CliError("the manifests hold no pod: give one with -f PATH");
  }
  const endless = plan.value.pods.filter(
    ({ spec }) => (spec.restartPolicy ?? "Always") === "Always",
  );
  if (endless.length === 0) return plan.value;
  throw new CliError(
    `${endless.map(podKey).join(", ")}: spec.restartPolicy is Always (also where it is not given), so that it never ends: ` +
      "set it to Never or OnFailure, or run the pod with `berth up`",
  );
}

function interruptionOf({ reason }: AbortSignal): number {
  return reason instanceof Error && reason.message === "SIGTERM"
    ? terminatedExitCode
    : interruptedExitCode;
}

interface Caller {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

class PodsRun {
  readonly #plan: RunPlan;
  readonly #client: AgentClient;
  readonly #caller: Caller;
  readonly #shown = new Map<string, string>();
  #pods: readonly Pod[] = [];

  constructor(plan: RunPlan, client: AgentClient, caller: Caller) {
    this.#plan = plan;
    this.#client = client;
    this.#caller = caller;
  }

  /** The exit code of the pods; undefined when it was interrupted before. */
  async untilOver(
    node: Pick<RunNode, "untilReady">,
    timeout: AbortSignal | undefined,
  ): Promise<number | undefined> {
    const { terminal, signal } = this.#caller;
    const either = timeout === undefined ? signal : AbortSignal.any([signal, timeout]);
    const interrupted = new Promise<undefined>((resolve) => {
      if (either.aborted) resolve(undefined);
      either.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    const isReady = await Promise.race([node.untilReady().then(() => true), interrupted]);
    if (isReady === undefined) return undefined;
    const logs = new CopyLogs({
      client: this.#client,
      terminal,
      withPrefix: containerCount(this.#plan.pods) > 1,
      signal: either,
    });
    try {
      for await (const pods of followPods(this.#client, {}, either)) {
        this.#pods = this.#inOrder(pods);
        for (const pod of this.#pods) {
          this.#showProgress(pod);
          logs.follow(pod);
        }
        if (this.#pods.length === this.#plan.pods.length && this.#pods.every(isOver)) break;
      }
      await logs.finished();
    } catch (error) {
      if (either.aborted) return undefined;
      throw error;
    }
    for (const pod of this.#pods) this.#sayWhyWithoutContainer(pod);
    return exitCodeOf(this.#pods);
  }

  /** Says how far it got; answers the exit code for that. */
  async interruptedBy(timeout: AbortSignal | undefined): Promise<number> {
    const { terminal, signal } = this.#caller;
    if (signal.aborted) {
      terminal.note("ending the pods (a second Ctrl-C leaves that to the background)");
      return interruptionOf(signal);
    }
    if (timeout === undefined) return exitCodes.failed;
    terminal.note("the time is over; ending the pods");
    for (const pod of this.#pods.filter((each) => !isOver(each))) {
      const explained = await this.#client
        .explain(pod.metadata.uid, timeoutSignal(explanationMs))
        .catch(() => undefined);
      if (explained === undefined) continue;
      terminal.note(`pod/${pod.metadata.name}: ${awaitedText(explained, terminal.nowMs())}`);
    }
    return timedOutExitCode;
  }

  /** As the manifests have them, whatever the node's order is. */
  #inOrder(pods: readonly Pod[]): readonly Pod[] {
    return this.#plan.pods.flatMap(
      (wanted) => pods.find((pod) => podKey(pod) === podKey(wanted)) ?? [],
    );
  }

  /** One line for each change of the pod's state; a pull is one, however far it is. */
  #showProgress(pod: Pod): void {
    const { terminal } = this.#caller;
    const status = podRow(pod, terminal.nowMs()).status.replace(/, \d+%\)$/, ")");
    if (this.#shown.get(pod.metadata.uid) === status) return;
    this.#shown.set(pod.metadata.uid, status);
    terminal.note(`pod/${pod.metadata.name}: ${printable(status)}`);
  }

  /** A pod that was refused or evicted has no exit code that says why. */
  #sayWhyWithoutContainer({ metadata, status }: Pod): void {
    const { message = "" } = status ?? {};
    if (status?.phase !== "Failed" || message === "") return;
    this.#caller.terminal.note(`pod/${metadata.name}: ${printable(message)}`);
  }
}

function containerCount(pods: readonly Pod[]): number {
  return pods.flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers]).length;
}
