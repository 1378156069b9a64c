import { describe, expect, it } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";

const definitions = {
  pulls_total: { type: "counter", stability: "ALPHA", labels: ["result"] },
  pods: { type: "gauge", stability: "BETA", labels: [] },
  start_seconds: { type: "histogram", stability: "ALPHA", labels: ["kind"], buckets: [0.5, 1] },
} as const;

describe("MetricsRegistry", () => {
  it("writes counters, gauges and histograms with cumulative buckets", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("pulls_total", { result: "ok" });
    metrics.increment("pulls_total", { result: "ok" }, 2);
    metrics.set("pods", 3);
    for (const seconds of [0.25, 0.75, 2]) metrics.observe("start_seconds", seconds, { kind: "a" });
    expect(metrics.text(() => true)).toBe(
      [
        "# HELP pods [BETA] pods",
        "# TYPE pods gauge",
        "pods 3",
        "# HELP pulls_total [ALPHA] pulls total",
        "# TYPE pulls_total counter",
        'pulls_total{result="ok"} 3',
        "# HELP start_seconds [ALPHA] start seconds",
        "# TYPE start_seconds histogram",
        'start_seconds_bucket{kind="a",le="0.5"} 1',
        'start_seconds_bucket{kind="a",le="1"} 2',
        'start_seconds_bucket{kind="a",le="+Inf"} 3',
        'start_seconds_sum{kind="a"} 3',
        'start_seconds_count{kind="a"} 3',
        "",
      ].join("\n"),
    );
  });

  it("escapes label values", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("pulls_total", { result: 'a"b\\c\nd' });
    expect(metrics.text(() => true)).toContain('pulls_total{result="a\\"b\\\\c\\nd"} 1');
  });

  it("ignores what it does not know", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("other");
    expect(metrics.text(() => true)).toBe("");
  });

  it("drops the series of something that is gone", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("pulls_total", { result: "a" });
    metrics.increment("pulls_total", { result: "b" });
    metrics.drop("pulls_total", { result: "a" });
    expect(metrics.text(() => true)).not.toContain('result="a"');
  });
});
