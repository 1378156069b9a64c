import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import type { GrpcObserver } from "../drivers/grpc/grpc-connection.ts";
import { berthVersion } from "../lib/version.ts";
import type { Tracer } from "../ports/tracer.ts";

const defaultEndpoint = "localhost:4317";

/** A tracer that also takes the runtime's calls. */
export interface NodeTracer extends Tracer {
  readonly onCall: GrpcObserver;
  close(): Promise<void>;
}

/** Undefined when the configuration asks for no traces; then nothing of it is loaded. */
export async function openTracer(
  { tracing }: KubeletConfiguration,
  nodeName: string,
): Promise<NodeTracer | undefined> {
  const { endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = tracing ?? {};
  if (tracing === undefined) return undefined;
  const { OtlpTracer } = await import("../drivers/telemetry/otlp-tracer.ts");
  const options = { endpoint, samplingRatePerMillion, nodeName, version: berthVersion };
  const tracer = new OtlpTracer(options);
  return {
    span: (name, attributes, work) => tracer.span(name, attributes, work),
    onCall: ({ method, startedMs, endedMs, error }) => {
      tracer.noteCall({ name: `runtime.v1/${method}`, startedMs, endedMs, error });
    },
    close: () => tracer.close(),
  };
}
