import { nodeStatusPatch } from "../../core/node/node-patch.ts";
import { withDeadline } from "../../lib/deadline.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { ApiClient, ApiRequest } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";

/** This node as the API server has it. */
export class NodeApi {
  readonly #api: ApiClient;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #timeoutMs: number;

  constructor(api: ApiClient, clock: Clock, nodeName: string, timeoutMs: number) {
    this.#api = api;
    this.#clock = clock;
    this.#path = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
    this.#timeoutMs = timeoutMs;
  }

  async create(node: Node, signal: AbortSignal): Promise<Node> {
    return await this.#api.send<Node>(
      { method: "POST", path: "/api/v1/nodes", body: node },
      signal,
    );
  }

  async read(signal: AbortSignal): Promise<Node> {
    return await this.inTime<Node>({ method: "GET", path: this.#path }, signal);
  }

  async patchStatus(before: Node, after: Node, signal: AbortSignal): Promise<Node> {
    const body = nodeStatusPatch(before, after);
    const path = `${this.#path}/status`;
    return await this.inTime<Node>({ method: "PATCH", path, body, patchType: "strategic" }, signal);
  }

  /** A request that is of no use later: it gives up when the next one is due. */
  async inTime<T>(request: ApiRequest, signal: AbortSignal): Promise<T> {
    const timed = { ...request, query: { timeout: `${this.#timeoutMs / 1000}s` } };
    const limit = { ms: this.#timeoutMs, what: `${request.method} ${request.path}` };
    return await withDeadline(this.#clock, limit, signal, (late) => this.#api.send<T>(timed, late));
  }
}
