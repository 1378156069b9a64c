import type { Metrics } from "../../ports/metrics.ts";
import type { EndpointTable } from "./endpoints.ts";

const methods = new Set(["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"]);
/** Counted under no name of its own. */
const unnamed = "metrics/slis";
const longRunning = new Set(["exec", "attach", "portforward", "debug"]);

export type RequestMetrics = Pick<Metrics, "increment" | "observe" | "set">;

/** Counts requests by method and endpoint; whatever a client makes up counts as "other". */
export class RequestMeter {
  readonly #metrics: RequestMetrics;
  readonly #buckets: ReadonlySet<string>;
  readonly #serverType: string;
  readonly #inFlight = new Map<string, number>();

  constructor(metrics: RequestMetrics, table: EndpointTable, serverType: string) {
    this.#metrics = metrics;
    this.#buckets = new Set(table.patterns.map(bucketOf).filter((name) => name !== unnamed));
    this.#serverType = serverType;
  }

  /** Answers the function to call at the end. */
  begin(method: string, requestPath: string): () => void {
    const bucket = bucketOf(requestPath);
    const path = this.#buckets.has(bucket) ? bucket : "other";
    const labels = {
      method: methods.has(method) ? method : "other",
      path,
      server_type: this.#serverType,
      long_running: String(longRunning.has(path)),
    };
    const key = `${labels.method} ${path}`;
    const startedMs = performance.now();
    const add = (change: number): void => {
      const count = (this.#inFlight.get(key) ?? 0) + change;
      this.#inFlight.set(key, count);
      this.#metrics.set("kubelet_http_inflight_requests", count, labels);
    };
    this.#metrics.increment("kubelet_http_requests_total", labels);
    add(1);
    return () => {
      add(-1);
      const seconds = (performance.now() - startedMs) / 1000;
      this.#metrics.observe("kubelet_http_requests_duration_seconds", seconds, labels);
    };
  }
}

/** The first part of a path, or the first two below /metrics. */
function bucketOf(path: string): string {
  const [root = "", below = ""] = path.replace(/^\//, "").split("/");
  return root === "metrics" && below !== "" ? `${root}/${below}` : root;
}
