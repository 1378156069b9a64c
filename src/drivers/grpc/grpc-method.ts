import type { GrpcMethod } from "./grpc-connection.ts";

interface WireMethod<WireRequest, Response> {
  readonly path: string;
  readonly requestSerialize: (request: WireRequest) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

interface WireMessage<WireRequest> {
  readonly fromPartial: (partial: never) => WireRequest;
}

/**
 * A call with plain messages, by its generated definition. Absent fields of a request are proto3 defaults. Wire and plain
 * types come from one definition, so that a plain request always is a partial wire message.
 */
export function grpcMethod<Request, Response, WireRequest>(
  definition: WireMethod<WireRequest, Response>,
  message: WireMessage<WireRequest>,
): GrpcMethod<Request, Response> {
  return {
    path: definition.path,
    serialize: (request) => definition.requestSerialize(message.fromPartial(request as never)),
    deserialize: definition.responseDeserialize,
  };
}
