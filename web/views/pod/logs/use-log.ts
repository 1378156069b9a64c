import { useEffect, useState } from "preact/hooks";
import type { Pod } from "../../../../src/model/pod.ts";
import type { ApiClient } from "../../../api/client.ts";
import { usePage } from "../../../hooks.ts";
import { sleep } from "../../../lib/sleep.ts";
import { emptyLog, type LogContent, type LogLine, withLines } from "../../../model/log-buffer.ts";
import { LineCutter } from "../../../model/log-text.ts";
import type { PageState } from "../../../state.ts";

/** Lines of before that are read first. */
const tailLines = 2_000;
const showMs = 100;
const retryMs = 1_000;

export interface LogChoice {
  readonly container: string;
  readonly follow: boolean;
  /** Of the run before this one. */
  readonly previous: boolean;
  readonly timestamps: boolean;
}

/** A container's log; followed it goes on with the container's next run. */
export function useLog(pod: Pod, choice: LogChoice): LogContent {
  const page = usePage();
  const [log, setLog] = useState(emptyLog);
  const { namespace, name, uid } = pod.metadata;
  const { container, follow, previous, timestamps } = choice;
  useEffect(() => {
    const end = new AbortController();
    setLog(emptyLog);
    const reader = new LogReader(page, { namespace, name, uid }, setLog);
    reader.run({ container, follow, previous, timestamps }, end.signal).catch(() => undefined);
    return () => end.abort();
  }, [page, namespace, name, uid, container, follow, previous, timestamps]);
  return log;
}

type LogSubject = Pick<Pod["metadata"], "namespace" | "name" | "uid">;

class LogReader {
  readonly #page: PageState;
  readonly #client: ApiClient;
  readonly #subject: LogSubject;
  readonly #show: (log: LogContent) => void;
  #log: LogContent = emptyLog;
  #pending: LogLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(page: PageState, subject: LogSubject, show: (log: LogContent) => void) {
    this.#page = page;
    this.#client = page.client;
    this.#subject = subject;
    this.#show = show;
  }

  async run(choice: LogChoice, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    let isFirst = true;
    for (;;) {
      const before = this.#containerId(choice.container);
      const how = await this.#readOnce(choice, isFirst, signal);
      if (signal.aborted) return;
      if (choice.previous || !choice.follow || how === "refused") return;
      // The same run again would be the same lines again.
      this.#note(how === "broken" ? "the connection broke" : "this run has ended");
      while (!signal.aborted && this.#containerId(choice.container) === before) {
        await sleep(retryMs, signal);
      }
      if (signal.aborted) return;
      this.#note("the next run begins");
      isFirst = false;
    }
  }

  #containerId(container: string): string | undefined {
    const { status } = this.#page.pods.value.byUid.get(this.#subject.uid) ?? {};
    const all = [
      ...(status?.containerStatuses ?? []),
      ...(status?.initContainerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ];
    return all.find(({ name }) => name === container)?.containerID;
  }

  async #readOnce(
    { container, follow, previous, timestamps }: LogChoice,
    isFirst: boolean,
    signal: AbortSignal,
  ): Promise<"ended" | "broken" | "refused"> {
    const { namespace, name } = this.#subject;
    const query = new URLSearchParams({
      container,
      follow: String(follow && !previous),
      previous: String(previous),
      timestamps: String(timestamps),
      ...(isFirst ? { tailLines: String(tailLines) } : {}),
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
    const answer = await this.#client.open(`${path}?${query.toString()}`, signal);
    if (!answer.ok) {
      this.#note(answer.error.message);
      return follow && !previous ? "ended" : "refused";
    }
    const cutter = new LineCutter();
    const decoder = new TextDecoder();
    const reader = answer.value.body?.getReader();
    try {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) break;
        this.#take(cutter.push(decoder.decode(value, { stream: true })));
      }
      const rest = cutter.rest();
      if (rest !== undefined) this.#take([rest]);
      return "ended";
    } catch {
      return "broken";
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
  }

  #take(lines: readonly string[]): void {
    this.#add(lines.map((text) => ({ text, isNote: false })));
  }

  #note(text: string): void {
    this.#add([{ text, isNote: true }]);
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
