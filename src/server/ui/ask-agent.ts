// What the page reads is what the agent's local API answers: requests are handed on to its socket, answers back as they come.
import { type IncomingMessage, request as sendRequest } from "node:http";
import { connect } from "node:net";
import { pipeline } from "node:stream/promises";
import { clockHeader } from "../../model/clock-header.ts";
import type { Exchange } from "../exchange.ts";
import { HttpError } from "../http-error.ts";

/** Hands a request for data on; resolves when all of the answer was handed back, as fast as the browser reads. */
export async function handOn(
  { request, response, signal }: Exchange,
  socketPath: string,
): Promise<void> {
  const answer = await askAgent(socketPath, request.url ?? "", signal);
  const { statusCode = 502, headers } = answer;
  response.writeHead(statusCode, {
    "Content-Type": headers["content-type"] ?? "application/octet-stream",
    ...kept(headers, "content-length"),
    ...kept(headers, clockHeader),
  });
  // A stream is there before its first line is.
  response.flushHeaders();
  // What breaks off here is seen by the browser as it is: the answer has begun.
  await pipeline(answer, response).catch(() => response.destroy());
}

/** Asks the local API for something that it only reads. */
export function askAgent(
  socketPath: string,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = sendRequest(
      {
        createConnection: () => connect(socketPath),
        method: "GET",
        path,
        headers: { Host: "localhost" },
        signal,
      },
      resolve,
    );
    asked.on("error", () =>
      reject(new HttpError("ServiceUnavailable", "the agent does not answer")),
    );
    asked.end();
  });
}

function kept(headers: IncomingMessage["headers"], name: string): Record<string, string> {
  const value = headers[name];
  return typeof value === "string" ? { [name]: value } : {};
}
