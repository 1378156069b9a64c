import { Server, ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";

/** A collector of OpenTelemetry that keeps the bytes it is sent. */
export class TraceCollector {
  readonly received: Buffer[] = [];
  readonly #server = new Server();

  async listen(): Promise<string> {
    const take: UntypedHandleCall = (
      call: { readonly request: Buffer },
      answer: (error: null, response: Buffer) => void,
    ) => {
      this.received.push(call.request);
      answer(null, Buffer.alloc(0));
    };
    const pass = (bytes: Buffer): Buffer => bytes;
    this.#server.addService(
      {
        export: {
          path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
          requestStream: false,
          responseStream: false,
          requestSerialize: pass,
          requestDeserialize: pass,
          responseSerialize: pass,
          responseDeserialize: pass,
        },
      },
      { export: take },
    );
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return `127.0.0.1:${port}`;
  }

  close(): void {
    this.#server.forceShutdown();
  }
}
