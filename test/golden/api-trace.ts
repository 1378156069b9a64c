import type { Json, RecordedRequest } from "./recording.ts";

/** A request to the API server, recorded or of Berth. Times are seconds on any clock, the same for a whole trace. */
export interface ApiTraceRequest {
  readonly atSeconds: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The media type of a patch. */
  readonly patchType?: string | undefined;
  readonly body?: Json | undefined;
  readonly status: number;
  readonly watch: boolean;
  /** Not by the node: part of what pods go through, but not compared. */
  readonly byUser?: true;
}

/** A recording's requests as a trace. */
export function recordedRequests(requests: readonly RecordedRequest[]): readonly ApiTraceRequest[] {
  return requests.map(({ t, method, path, query = {}, contentType, body, status, watch }) => ({
    atSeconds: t,
    method,
    path,
    query,
    patchType: method === "PATCH" ? contentType : undefined,
    body,
    status,
    watch: watch === true,
  }));
}

/** A change of a pod's status by a user, at no time yet. */
export function userPatch(path: string, body: Json): ApiTraceRequest {
  return {
    atSeconds: 0,
    method: "PATCH",
    path,
    query: {},
    body,
    status: 200,
    watch: false,
    byUser: true,
  };
}
