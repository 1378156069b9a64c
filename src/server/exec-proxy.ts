// /exec, /attach and /portforward of the local API.
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { AgentView, AttachOptions, ExecOptions } from "../ports/agent-view.ts";
import { chooseContainer } from "./choose-container.ts";
import { HttpError, statusOf, toHttpError } from "./http-error.ts";
import { findPod } from "./pod-routes.ts";
import { readFlag } from "./query.ts";
import { type Route, route } from "./router.ts";
import { forwardUpgrade, type UpgradeRequest } from "./stream-proxy.ts";

export interface UpgradeExchange extends UpgradeRequest {
  readonly query: URLSearchParams;
}

/** A terminal may stand open for as long as its user likes. */
const never = { idleMs: 0 };

export function execRoutes(view: AgentView): readonly Route<UpgradeExchange>[] {
  return [
    route(
      ["GET", "POST"],
      "/api/v1/namespaces/{namespace}/pods/{name}/exec",
      async ({ namespace, name }, exchange: UpgradeExchange) => {
        const pod = findPod(view, namespace, name);
        const options = readExecOptions(exchange.query, chooseContainer(pod, exchange.query));
        const url = await view.execUrl(pod, options, exchange.signal);
        await forwardUpgrade(url, exchange, never);
      },
    ),
    route(
      ["GET", "POST"],
      "/api/v1/namespaces/{namespace}/pods/{name}/attach",
      async ({ namespace, name }, exchange: UpgradeExchange) => {
        const pod = findPod(view, namespace, name);
        const options = readStreams(exchange.query, chooseContainer(pod, exchange.query));
        const url = await view.attachUrl(pod, options, exchange.signal);
        await forwardUpgrade(url, exchange, never);
      },
    ),
    route(
      ["GET", "POST"],
      "/api/v1/namespaces/{namespace}/pods/{name}/portforward",
      async ({ namespace, name }, exchange: UpgradeExchange) => {
        const pod = findPod(view, namespace, name);
        const url = await view.portForwardUrl(pod, readPorts(exchange.query), exchange.signal);
        await forwardUpgrade(url, exchange, never);
      },
    ),
  ];
}

function readPorts(query: URLSearchParams): readonly number[] {
  return query.getAll("ports").map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port > 0 && port < 65_536) return port;
    throw new HttpError("BadRequest", `ports: "${text}" is not a port: give one from 1 to 65535`);
  });
}

function readExecOptions(query: URLSearchParams, container: string): ExecOptions {
  const command = query.getAll("command");
  if (command.length === 0) throw new HttpError("BadRequest", "you must specify a command");
  return { ...readStreams(query, container), command };
}

function readStreams(query: URLSearchParams, container: string): AttachOptions {
  const options = {
    container,
    stdin: readFlag(query, "stdin"),
    stdout: readFlag(query, "stdout"),
    stderr: readFlag(query, "stderr"),
    tty: readFlag(query, "tty"),
  };
  if (!options.stdin && !options.stdout && !options.stderr) {
    throw new HttpError("BadRequest", "you must specify at least 1 of stdin, stdout, stderr");
  }
  return options;
}

/** Answers an upgrade that is not granted, and closes the connection. */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  const refusal = toHttpError(error);
  const body = `${JSON.stringify(statusOf(refusal))}\n`;
  socket.end(
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code]}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
