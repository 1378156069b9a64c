import { computeQosClass } from "../../src/core/resource/qos.ts";
import { podPath, podsPath } from "../../src/engine/cluster/pod-requests.ts";
import { formatTime } from "../../src/lib/time.ts";
import { isApiStatus } from "../../src/model/api-error.ts";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { WatchEvent } from "../../src/model/watch-event.ts";
import type { ApiClient, ApiRequest } from "../../src/ports/api-client.ts";
import { MemoryApi } from "../sim/memory-api.ts";
import { applyStrategicMerge } from "../sim/strategic-merge.ts";
import { type ApiTraceRequest, userPatch } from "./api-trace.ts";
import { isObject } from "./json-path.ts";
import { recordedNodeName, recordedNodeObject } from "./recorded-node.ts";
import type { Json } from "./recording.ts";

const NODE = `/api/v1/nodes/${recordedNodeName}`;
const PATCH_TYPES = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};
const ADMIN = "kubernetes-admin";
const TOKEN_LIFETIME_MS = 3_607_000;

/** The cluster's API server; keeps every request of Berth. */
export class GoldenApi implements ApiClient {
  readonly #store = new MemoryApi(Date.now);
  readonly #requests: ApiTraceRequest[] = [];

  #hasRecordedNode = false;

  constructor() {
    this.#store.put("/api/v1/namespaces/default/services/kubernetes", {
      spec: {
        clusterIP: "10.96.0.1",
        ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }],
      },
    });
    this.#store.intercept(answerToken);
    this.#store.intercept(answerReview);
    this.#store.intercept((request) => this.#keepNode(request));
    this.#store.intercept((request) => this.#createMirror(request));
  }

  /** From now on the node is the recorded one, whatever Berth says of it. */
  useRecordedNode(): void {
    const { metadata, ...node } = recordedNodeObject;
    const known = this.#store.get(NODE)?.metadata;
    this.#store.put(NODE, { ...node, metadata: { ...known, ...metadata } });
    this.#hasRecordedNode = true;
  }

  get requests(): readonly ApiTraceRequest[] {
    return this.#requests;
  }

  async send<T>(request: ApiRequest, signal: AbortSignal): Promise<T> {
    const note = (status: number): void => this.#note({ ...request, watch: false }, status);
    try {
      const answer = await this.#store.send<T>({ ...request, body: asSent(request.body) }, signal);
      note(request.method === "POST" ? 201 : 200);
      return served(answer);
    } catch (error) {
      note([404, 409].find((status) => isApiStatus(error, status)) ?? 500);
      throw error;
    }
  }

  watch<T>(
    request: Pick<ApiRequest, "path" | "query">,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.#note({ ...request, method: "GET", watch: true }, 200);
    const onServed = (event: WatchEvent<T>): void =>
      onEvent({ ...event, object: served(event.object) });
    return this.#store.watch(request, onServed, signal);
  }

  /** Puts an object there as a user's client would. */
  put(path: string, object: object): void {
    this.#store.put(path, object);
  }

  /** Every pod that may ask the API server something needs the server's certificate. */
  createNamespace(namespace: string): void {
    const path = `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`;
    if (this.#store.get(path) === undefined) this.#store.put(path, { data: { "ca.crt": "CA" } });
  }

  create(pod: Pod): void {
    this.#store.put(podPath(pod.metadata), pod);
  }

  find(namespace: string, name: string): Pod | undefined {
    return this.#store.get(podPath({ namespace, name })) as Pod | undefined;
  }

  /** The pods of a namespace. */
  list(namespace: string): readonly Pod[] {
    return this.#store.list(podsPath(namespace)) as unknown as readonly Pod[];
  }

  /** Asks for the pod's end: one that still runs is only marked. */
  delete(namespace: string, name: string): void {
    const pod = this.find(namespace, name);
    if (pod === undefined) return;
    const phase = pod.status?.phase;
    const hasEnded = phase === "Succeeded" || phase === "Failed";
    const graceSeconds = hasEnded ? 0 : (pod.spec.terminationGracePeriodSeconds ?? 30);
    this.create({
      ...pod,
      metadata: {
        ...pod.metadata,
        generation: (pod.metadata.generation ?? 1) + 1,
        deletionTimestamp: formatTime(Date.now() + graceSeconds * 1000),
        deletionGracePeriodSeconds: graceSeconds,
      },
    });
  }

  /** Changes a pod as a user's client would. */
  patch(namespace: string, name: string, patch: Json): void {
    const pod = this.find(namespace, name);
    if (pod === undefined) return;
    const patched = applyStrategicMerge(pod, patch) as Pod;
    const isOfSpec = isObject(patch) && "spec" in patch;
    if (!isOfSpec) this.#noteByUser(namespace, name, patch);
    const generation = (pod.metadata.generation ?? 1) + (isOfSpec ? 1 : 0);
    this.create({ ...patched, metadata: { ...patched.metadata, generation } });
  }

  /** Takes a pod away, whatever its node thinks of it. */
  remove(namespace: string, name: string): void {
    this.#store.remove(podPath({ namespace, name }));
  }

  // The recorded node stays what it is, whatever machine this is.
  #keepNode({ method, path }: ApiRequest): unknown {
    if (!this.#hasRecordedNode) return undefined;
    const isOfNode = path === NODE || path === `${NODE}/status`;
    return isOfNode && method !== "GET" ? this.#store.get(NODE) : undefined;
  }

  #createMirror({ method, path, body }: ApiRequest): unknown {
    const isPod = method === "POST" && /^\/api\/v1\/namespaces\/[^/]+\/pods$/.test(path);
    if (!isPod) return undefined;
    const { metadata, ...sent } = body as Pod;
    const { uid: _, ...own } = metadata;
    const at = `${path}/${metadata.name}`;
    if (this.#store.get(at) !== undefined) return undefined;
    const status = createdStatus(body as Pod);
    return this.#store.put(at, { ...sent, status, metadata: { ...own, generation: 1 } });
  }

  #noteByUser(namespace: string, name: string, body: Json): void {
    const path = podPath({ namespace, name }, "status");
    const atSeconds = Date.now() / 1000;
    this.#requests.push({ ...userPatch(path, body), atSeconds });
  }

  #note(request: ApiRequest & { readonly watch: boolean }, status: number): void {
    const { method, path, query = {}, patchType = "strategic", watch } = request;
    this.#requests.push({
      atSeconds: Date.now() / 1000,
      method,
      path,
      query,
      patchType: method === "PATCH" ? PATCH_TYPES[patchType] : undefined,
      body: asSent(request.body),
      status,
      watch,
    });
  }
}

/** What the API server makes of the status of a pod that it creates. */
export function createdStatus(pod: Pod): PodStatus {
  return { phase: "Pending", qosClass: computeQosClass(pod) };
}

function asSent(body: unknown): Json | undefined {
  return body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as Json);
}

/** The API server writes a condition's probe time even when there is none. */
function served<T>(object: T): T {
  const { status } = object as { readonly status?: { readonly conditions?: readonly object[] } };
  if (status?.conditions === undefined) return object;
  const conditions = status.conditions.map((condition) => ({ lastProbeTime: null, ...condition }));
  return { ...object, status: { ...status, conditions } };
}

function answerToken({ method, path, body }: ApiRequest): unknown {
  if (method !== "POST" || !path.endsWith("/token")) return undefined;
  const expirationTimestamp = formatTime(Date.now() + TOKEN_LIFETIME_MS);
  return { ...(body as object), status: { token: "token", expirationTimestamp } };
}

/** Who has a token, and that only an administrator may do anything. */
function answerReview({ method, path, body }: ApiRequest): unknown {
  if (method !== "POST" || !path.endsWith("reviews")) return undefined;
  const { spec } = body as { readonly spec: { readonly token?: string; readonly user?: string } };
  if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: spec.user === ADMIN } };
  const users: Readonly<Record<string, object>> = {
    admin: { username: ADMIN, groups: ["system:masters"] },
    node: { username: `system:node:${recordedNodeName}`, groups: ["system:nodes"] },
  };
  const user = users[spec.token ?? ""];
  return { status: user === undefined ? {} : { authenticated: true, user } };
}
