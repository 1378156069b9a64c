import type { Pod } from "../../../../src/model/pod.ts";
import type { Failure } from "../../../api/failure.ts";
import { sleep } from "../../../lib/sleep.ts";
import { emptyLog, type LogContent, type LogLine, withLines } from "../../../model/log-buffer.ts";
import { LineCutter } from "../../../model/log-text.ts";
import type { PageState } from "../../../state.ts";

/** Lines of before that are read first. */
const tailLines = 2_000;
const showMs = 100;
const retryMs = 1_000;
/** So long after a run's end its container is known to have ended. */
const statusMs = 5_000;

export interface LogChoice {
  readonly container: string;
  readonly follow: boolean;
  /** Of the run before this one. */
  readonly previous: boolean;
  readonly timestamps: boolean;
}

type LogSubject = Pick<Pod["metadata"], "namespace" | "name" | "uid">;
/** What is read: the end of the log, a whole run after that, or the end once more after a break. */
type Begin = "first" | "next" | "again";
type Outcome = "ended" | "broken" | "refused";

/** Reads a container's log for as long as it is followed. */
export class LogReader {
  readonly #page: Pick<PageState, "client" | "pods">;
  readonly #subject: LogSubject;
  readonly #show: (log: LogContent) => void;
  #log: LogContent = emptyLog;
  #pending: LogLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The note that says why nothing comes, until something does. */
  #trouble: string | undefined;

  constructor(
    page: Pick<PageState, "client" | "pods">,
    subject: LogSubject,
    show: (log: LogContent) => void,
  ) {
    this.#page = page;
    this.#subject = subject;
    this.#show = show;
  }

  async run(choice: LogChoice, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    let begin: Begin = "first";
    for (;;) {
      const before = this.#status(choice.container)?.containerID;
      const how = await this.#readOnce(choice, begin, signal);
      if (signal.aborted || choice.previous || !choice.follow) return;
      if (how === "ended") this.#note("this run has ended");
      begin = "again";
      if (how === "broken") await sleep(retryMs, signal);
      else if (await this.#untilNextRun(choice.container, before, signal)) {
        this.#note("the next run begins");
        begin = "next";
      }
      if (signal.aborted) return;
    }
  }

  /** The same run again would be the same lines again. False = it goes on: the answer ended for another reason, such as the agent's end. */
  async #untilNextRun(
    container: string,
    before: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const startMs = performance.now();
    while (!signal.aborted) {
      const status = this.#status(container);
      if (status?.containerID !== before) return true;
      const isRunning = status?.state?.running !== undefined;
      if (isRunning && performance.now() - startMs >= statusMs) return false;
      await sleep(retryMs, signal);
    }
    return false;
  }

  #status(container: string) {
    const { status } = this.#page.pods.value.byUid.get(this.#subject.uid) ?? {};
    const all = [
      ...(status?.containerStatuses ?? []),
      ...(status?.initContainerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ];
    return all.find(({ name }) => name === container);
  }

  async #readOnce(
    { container, follow, previous, timestamps }: LogChoice,
    begin: Begin,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { namespace, name } = this.#subject;
    const query = new URLSearchParams({
      container,
      follow: String(follow && !previous),
      previous: String(previous),
      timestamps: String(timestamps),
      ...(begin === "next" ? {} : { tailLines: String(tailLines) }),
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
    const answer = await this.#page.client.open(`${path}?${query.toString()}`, signal);
    if (!answer.ok) {
      this.#noteTrouble(answer.error.message);
      return isPassing(answer.error) ? "broken" : "refused";
    }
    this.#trouble = undefined;
    if (begin === "again") this.#beginAgain();
    try {
      await this.#readBody(answer.value);
      return "ended";
    } catch {
      if (!signal.aborted) this.#noteTrouble("the connection broke");
      return "broken";
    }
  }

  async #readBody({ body }: Response): Promise<void> {
    const cutter = new LineCutter();
    const decoder = new TextDecoder();
    const reader = body?.getReader();
    try {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) break;
        this.#take(cutter.push(decoder.decode(value, { stream: true })));
      }
      const rest = cutter.rest();
      if (rest !== undefined) this.#take([rest]);
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
  }

  /** The same lines come again: those that were shown make room for them. */
  #beginAgain(): void {
    this.#log = emptyLog;
    this.#pending = [];
    this.#note("read again, from its last lines on");
  }

  #take(lines: readonly string[]): void {
    this.#add(lines.map((text) => ({ text, isNote: false })));
  }

  #note(text: string): void {
    this.#add([{ text, isNote: true }]);
  }

  /** Once for many attempts in a row. */
  #noteTrouble(text: string): void {
    if (text !== this.#trouble) this.#note(text);
    this.#trouble = text;
  }

  /** Many lines that come at once are shown at once. */
  #add(lines: readonly LogLine[]): void {
    // One after the other: as arguments so many would not fit.
    for (const line of lines) this.#pending.push(line);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#log = withLines(this.#log, this.#pending);
      this.#pending = [];
      this.#show(this.#log);
    }, showMs);
  }
}

/** The agent does not answer, or has too much to do: it may the next time. */
function isPassing(failure: Failure): boolean {
  return failure.kind === "unreachable" || (failure.kind === "refused" && failure.status === 429);
}
