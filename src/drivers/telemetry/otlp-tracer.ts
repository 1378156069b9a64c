// Spans over OTLP/gRPC. Loaded only when the configuration asks for traces: the libraries are large.
import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { SpanAttributes, Tracer } from "../../ports/tracer.ts";

export interface OtlpTracerOptions {
  /** Of the collector, such as localhost:4317. */
  readonly endpoint: string;
  readonly samplingRatePerMillion: number;
  readonly nodeName: string;
  readonly version: string;
}

/** A call that has ended, made while a span was open or not. */
export interface TracedCall {
  readonly name: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly error?: Error | undefined;
}

/** Sends spans to an OpenTelemetry collector in the background; a collector that is away costs only the spans. */
export class OtlpTracer implements Tracer {
  readonly #provider: BasicTracerProvider;
  readonly #open = new AsyncLocalStorage<Context>();

  constructor({ endpoint, samplingRatePerMillion, nodeName, version }: OtlpTracerOptions) {
    const url = endpoint.includes("://") ? endpoint : `http://${endpoint}`;
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        "service.name": "kubelet",
        "service.version": version,
        "service.instance.id": nodeName,
        "host.name": nodeName,
      }),
      sampler: new ParentBasedSampler({
        root: new TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000),
      }),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
    });
  }

  async span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> {
    const parent = this.#open.getStore() ?? ROOT_CONTEXT;
    const span = this.#provider.getTracer("berth").startSpan(name, { attributes }, parent);
    try {
      return await this.#open.run(trace.setSpan(parent, span), work);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
      throw error;
    } finally {
      span.end();
    }
  }

  /** Takes a call in as a span inside the one that is open where this is called. */
  noteCall({ name, startedMs, endedMs, error }: TracedCall): void {
    const parent = this.#open.getStore() ?? ROOT_CONTEXT;
    const options = { kind: SpanKind.CLIENT, startTime: startedMs };
    const span = this.#provider.getTracer("berth").startSpan(name, options, parent);
    if (error !== undefined) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    }
    span.end(endedMs);
  }

  /** Sends what is left. */
  async close(): Promise<void> {
    await this.#provider.shutdown();
  }
}
