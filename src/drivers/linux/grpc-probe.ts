import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type CallOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { durationText, quoteText } from "../../lib/go-text.ts";
import { RuntimeError, runtimeErrorCode, runtimeErrorText } from "../../model/runtime-error.ts";
import type { ProbeOutcome } from "../../ports/probe-runner.ts";

export interface GrpcProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly userAgent: string;
}

const checkMethod = "/grpc.health.v1.Health/Check";
const servingStatuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;

/** Asks the standard health service. Rejects only when `signal` aborts. */
export async function runGrpcProbe(
  target: GrpcProbeTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const address = `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
  const deadlineMs = Date.now() + timeoutMs;
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.primary_user_agent": target.userAgent,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
  });
  const close = (): void => client.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    signal.throwIfAborted();
    if (!(await isConnected(client, deadlineMs, signal))) {
      const within = `${quoteText(address)} within ${durationText(timeoutMs)}`;
      const output = `timeout: failed to connect service ${within}: context deadline exceeded`;
      return { result: "failure", output };
    }
    return judge(await check(client, target.service, { deadline: deadlineMs }), timeoutMs);
  } finally {
    signal.removeEventListener("abort", close);
    close();
    signal.throwIfAborted();
  }
}

function isConnected(client: Client, deadlineMs: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    // Closing the client does not end the wait by itself.
    const abort = (): void => resolve(false);
    signal.addEventListener("abort", abort, { once: true });
    client.waitForReady(deadlineMs, (error) => {
      signal.removeEventListener("abort", abort);
      resolve(error === undefined || error === null);
    });
  });
}

function check(
  client: Client,
  service: string,
  options: CallOptions,
): Promise<number | ServiceError> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      checkMethod,
      encodeRequest,
      decodeServingStatus,
      service,
      new Metadata(),
      options,
      (error, serving) => resolve(error ?? serving ?? 0),
    );
  });
}

function judge(answer: number | ServiceError, timeoutMs: number): ProbeOutcome {
  if (typeof answer === "number") {
    const name = servingStatuses[answer] ?? String(answer);
    if (name === "SERVING") return { result: "success", output: "service healthy" };
    return { result: "failure", output: `service unhealthy (responded with ${quoteText(name)})` };
  }
  if (answer.code === status.UNIMPLEMENTED) {
    const output = `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${answer.details}`;
    return { result: "failure", output };
  }
  if (answer.code === status.DEADLINE_EXCEEDED) {
    const output = `timeout: health rpc did not complete within ${durationText(timeoutMs)}`;
    return { result: "failure", output };
  }
  const error = new RuntimeError(checkMethod, runtimeErrorCode(answer.code), answer.details);
  const output = `error: health rpc probe failed: ${runtimeErrorText(error)}`;
  return { result: "failure", output };
}

/** HealthCheckRequest: field 1 is the service. */
function encodeRequest(service: string): Buffer {
  const writer = new BinaryWriter();
  if (service !== "") writer.tag(1, WireType.LengthDelimited).string(service);
  return Buffer.from(writer.finish());
}

/** HealthCheckResponse: field 1 is the status. */
function decodeServingStatus(bytes: Buffer): number {
  const reader = new BinaryReader(bytes);
  let serving = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) serving = reader.int32();
    else reader.skip(wireType);
  }
  return serving;
}
