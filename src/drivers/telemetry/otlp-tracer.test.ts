import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TraceCollector } from "../../../test/kit/trace-collector.ts";
import { OtlpTracer } from "./otlp-tracer.ts";

describe("OtlpTracer", () => {
  let collector: TraceCollector;
  let endpoint: string;

  beforeEach(async () => {
    collector = new TraceCollector();
    endpoint = await collector.listen();
  });
  afterEach(() => collector.close());

  const open = (samplingRatePerMillion: number): OtlpTracer =>
    new OtlpTracer({ endpoint, samplingRatePerMillion, nodeName: "node-a", version: "1" });

  async function traceOneSync(tracer: OtlpTracer): Promise<void> {
    await tracer.span("syncPod", { "k8s.pod.name": "web" }, async () => {
      await Promise.resolve();
      tracer.noteCall({ name: "RunPodSandbox", startedMs: 1_000, endedMs: 2_000 });
    });
    await tracer.close();
  }

  it("sends a span and the calls inside it, with the node's name", async () => {
    await traceOneSync(open(1_000_000));
    const sent = Buffer.concat(collector.received).toString("latin1");
    for (const text of ["syncPod", "RunPodSandbox", "k8s.pod.name", "web", "node-a", "kubelet"]) {
      expect(sent).toContain(text);
    }
  });

  it("sends nothing of what is not sampled", async () => {
    await traceOneSync(open(0));
    expect(collector.received).toEqual([]);
  });

  it("hands a failure of the work on", async () => {
    const tracer = open(1_000_000);
    const failed = tracer.span("syncPod", {}, () => Promise.reject(new Error("no volume")));
    await expect(failed).rejects.toThrow("no volume");
    await tracer.close();
    expect(Buffer.concat(collector.received).toString("latin1")).toContain("no volume");
  });

  it("does the work though there is no collector", async () => {
    collector.close();
    const tracer = open(1_000_000);
    await expect(tracer.span("syncPod", {}, () => Promise.resolve(7))).resolves.toBe(7);
  });
});
