import { describe, expect, it } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";

const definitions = {
  pulls_total: { type: "counter", help: "Pulls.", stability: "ALPHA", labels: ["result"] },
  pods: { type: "gauge", help: "Pods.", stability: "BETA", labels: [] },
  start_seconds: {
    type: "histogram",
    help: "Starts.",
    stability: "ALPHA",
    labels: ["kind"],
    buckets: [0.5, 2_592_000],
  },
  renewals: { type: "counter", help: "Renewals.", stability: "ALPHA", labels: [], onDemand: true },
} as const;

describe("MetricsRegistry", () => {
  it("writes counters, gauges and histograms with cumulative buckets", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("pulls_total", { result: "ok" });
    metrics.increment("pulls_total", { result: "ok" }, 2);
    metrics.set("pods", 3);
    for (const seconds of [0.25, 0.75, 3_000_000])
      metrics.observe("start_seconds", seconds, { kind: "a" });
    expect(metrics.text(() => true)).toBe(
      [
        "# HELP pods [BETA] Pods.",
        "# TYPE pods gauge",
        "pods 3",
        "# HELP pulls_total [ALPHA] Pulls.",
        "# TYPE pulls_total counter",
        'pulls_total{result="ok"} 3',
        "# HELP start_seconds [ALPHA] Starts.",
        "# TYPE start_seconds histogram",
        'start_seconds_bucket{kind="a",le="0.5"} 1',
        'start_seconds_bucket{kind="a",le="2.592e+06"} 2',
        'start_seconds_bucket{kind="a",le="+Inf"} 3',
        'start_seconds_sum{kind="a"} 3000001',
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
    const before = metrics.text(() => true);
    metrics.increment("other");
    expect(metrics.text(() => true)).toBe(before);
  });

  it("drops the series of something that is gone", () => {
    const metrics = new MetricsRegistry(definitions);
    metrics.increment("pulls_total", { result: "a" });
    metrics.increment("pulls_total", { result: "b" });
    metrics.drop("pulls_total", { result: "a" });
    expect(metrics.text(() => true)).not.toContain('result="a"');
    metrics.drop("pulls_total", { result: "b" });
    expect(metrics.text(() => true)).not.toContain("pulls_total");
  });

  it("shows what has no labels from the start, unless it is there on demand", () => {
    const metrics = new MetricsRegistry(definitions);
    expect(metrics.text(() => true)).toBe("# HELP pods [BETA] Pods.\n# TYPE pods gauge\npods 0\n");
    metrics.increment("renewals");
    expect(metrics.text(() => true)).toContain("renewals 1");
  });
});

it("a metric has no more than ten thousand series", () => {
  const registry = new MetricsRegistry({
    many_total: { type: "counter", help: "", stability: "ALPHA", labels: ["name"] },
  });
  for (let index = 0; index < 10_100; index += 1) {
    registry.increment("many_total", { name: String(index) });
  }
  const lines = registry
    .text(() => true)
    .split("\n")
    .filter((line) => line.startsWith("many"));
  expect(lines).toHaveLength(10_000);
});
