import type { GrpcCall } from "../../src/drivers/grpc/grpc-connection.ts";
import { runtimeErrorCode } from "../../src/model/runtime-error.ts";
import { criJson } from "./cri-json.ts";
import type { Json, RecordedCall } from "./recording.ts";

/** A CRI call, recorded or of Berth. Times are seconds on any clock, the same for a whole trace. */
export interface TracedCall {
  readonly method: string;
  readonly request: Json;
  readonly response: Json;
  /** The gRPC status of a failure. */
  readonly failure?: string | undefined;
  readonly deadlineSeconds?: number | undefined;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** A recording's calls as a trace. */
export function recordedTrace(calls: readonly RecordedCall[]): readonly TracedCall[] {
  return calls.map(({ t, te, method, timeoutMs, request, response, error }) => ({
    method,
    request,
    response: response ?? {},
    failure: error === undefined ? undefined : runtimeErrorCode(error.code),
    deadlineSeconds: seconds(timeoutMs),
    startSeconds: t,
    endSeconds: te,
  }));
}

/** The calls that Berth's client made, in the order of their start. */
export function observedTrace(calls: readonly GrpcCall[]): readonly TracedCall[] {
  return calls
    .map((call) => ({
      method: call.method,
      request: criJson(call.request),
      response: criJson(call.response),
      failure: call.error?.code,
      deadlineSeconds: seconds(call.timeoutMs),
      startSeconds: call.startedMs / 1000,
      endSeconds: call.endedMs / 1000,
    }))
    .toSorted((a, b) => a.startSeconds - b.startSeconds);
}

function seconds(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined ? undefined : Math.round(timeoutMs / 1000);
}
