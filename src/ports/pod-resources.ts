import type {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from "../model/generated/pod-resources.ts";
import type { SocketServer } from "./socket-server.ts";

/** Answers other programs of the node. The message of what it throws is the caller's answer. */
export interface PodResourcesHandler {
  list(): ListPodResourcesResponse;
  /** The answer of version v1alpha1. */
  listDevices(): ListPodResourcesResponse;
  get(request: GetPodResourcesRequest): GetPodResourcesResponse;
  getAllocatableResources(): AllocatableResourcesResponse;
}

/** The pod resources API, v1 and what is left of v1alpha1. */
export interface PodResourcesApi {
  /** Takes as many calls in a second as a kubelet; one too many is ResourceExhausted and does not reach the handler. */
  serve(socketPath: string, handler: PodResourcesHandler): Promise<SocketServer>;
}
