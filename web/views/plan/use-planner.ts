import { useEffect, useState } from "preact/hooks";
import type { PlanAnswer, PlanRequest } from "./plan-messages.ts";

/** A manifest as large as the page takes is planned in a second. */
const timeoutMs = 20_000;

export type Planning = { readonly kind: "idle" } | { readonly kind: "planning" } | PlanAnswer;

/** What became of a request: each is planned by a worker of its own, which ends with it. */
export function usePlanner(request: PlanRequest | undefined): Planning {
  const [planning, setPlanning] = useState<Planning>({ kind: "idle" });
  useEffect(() => {
    if (request === undefined) {
      setPlanning({ kind: "idle" });
      return undefined;
    }
    setPlanning({ kind: "planning" });
    const worker = new Worker(workerAddress(), { type: "module" });
    const end = (answer: PlanAnswer): void => {
      clearTimeout(timer);
      worker.terminate();
      setPlanning(answer);
    };
    const timer = setTimeout(
      () => end({ kind: "failed", message: "Planning took too long: run berth plan -f FILE." }),
      timeoutMs,
    );
    worker.addEventListener("message", ({ data }: MessageEvent<PlanAnswer>) => end(data));
    worker.addEventListener("error", () =>
      end({ kind: "failed", message: "The planner could not be loaded: reload the page." }),
    );
    worker.postMessage(request);
    return () => {
      clearTimeout(timer);
      worker.terminate();
    };
  }, [request]);
  return planning;
}

/** The build writes it into the document: its name changes with its content. */
function workerAddress(): string {
  return document.getElementById("page")?.dataset["planner"] ?? "";
}
