// An API server in memory, served over TLS, that signs the certificates it is asked for.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../../src/model/api-error.ts";
import type { CertificateSigningRequest } from "../../src/model/generated/kubernetes.ts";
import type { ApiRequest } from "../../src/ports/api-client.ts";
import { MemoryApi } from "../sim/memory-api.ts";
import { answer, clientName, startApiServer, type TestApiServer } from "./api-server.ts";
import type { TestAuthority } from "./test-authority.ts";

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

export interface SigningApi {
  readonly memory: MemoryApi;
  readonly server: TestApiServer;
  /** Who made each request: a certificate's name, a bearer token, or "anonymous". */
  readonly callers: readonly string[];
}

/** Signs at once all that is asked for. */
export async function startSigningApi(authority: TestAuthority): Promise<SigningApi> {
  const memory = new MemoryApi();
  const callers: string[] = [];
  const pair = authority.issue("/CN=api-server");
  const server = await startApiServer(
    (request, response) => {
      callers.push(clientName(request) ?? request.headers.authorization ?? "anonymous");
      void serve(memory, authority, request, response);
    },
    { pair, caPem: authority.caPem },
  );
  return { memory, server, callers };
}

function sign(memory: MemoryApi, authority: TestAuthority, csr: CertificateSigningRequest): void {
  const csrPem = Buffer.from(csr.spec.request, "base64").toString();
  const certificate = Buffer.from(authority.sign(csrPem)).toString("base64");
  const conditions = [{ type: "Approved", status: "True" }];
  memory.put(`${requestsPath}/${csr.metadata?.name}`, {
    ...csr,
    status: { conditions, certificate },
  });
}

async function serve(
  memory: MemoryApi,
  authority: TestAuthority,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "", "https://server");
  const query = Object.fromEntries(url.searchParams);
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  try {
    if (query["watch"] === "true") {
      const write = (event: unknown): void => {
        response.write(`${JSON.stringify(event)}\n`);
      };
      response.flushHeaders();
      await memory.watch({ path: url.pathname, query }, write, closed.signal);
      response.end();
      return;
    }
    const body = await readJson(request);
    const method = request.method as ApiRequest["method"];
    const sent = { method, path: url.pathname, query, body };
    const object = await memory.send<CertificateSigningRequest>(sent, closed.signal);
    if (method === "POST" && url.pathname === requestsPath) sign(memory, authority, object);
    answer(response, 200, object);
  } catch (error) {
    if (error instanceof ApiError) {
      const { status: code, reason, message } = error;
      answer(response, code, { kind: "Status", code, reason, message });
    } else response.destroy();
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const value: unknown = text === "" ? undefined : JSON.parse(text);
  return value;
}
