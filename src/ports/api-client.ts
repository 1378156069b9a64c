import type { WatchEvent } from "../model/watch-event.ts";

/** One request to the API server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the server's root, such as /api/v1/nodes/node-a; its parts are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  /** The content type of a PATCH body; a strategic merge patch by default. */
  readonly patchType?: "strategic" | "merge" | "json" | undefined;
}

/**
 * The Kubernetes API server. A refusal rejects with an ApiError, no answer at all with another error. Credentials,
 * their renewal and rate limits are the driver's.
 */
export interface ApiClient {
  /** Answers the object that the server answered with. */
  send<T>(request: ApiRequest, signal: AbortSignal): Promise<T>;
  /** Resolves when the server ends the watch; an ERROR event rejects with its ApiError (410 = too old). */
  watch<T>(
    request: Pick<ApiRequest, "path" | "query">,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void>;
}
