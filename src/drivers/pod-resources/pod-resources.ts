import * as wire from "../../generated/pod-resources.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { PodResourcesApi, PodResourcesHandler } from "../../ports/pod-resources.ts";
import { type GrpcHandler, grpcHandler, serveGrpc } from "../grpc/grpc-server.ts";

const alphaList = "/v1alpha1.PodResourcesLister/List";

/** The kubelet's own. */
const callsPerSecond = 100;
const burst = 10;

/** The pod resources API over gRPC. */
export const podResourcesApi: PodResourcesApi = {
  serve: (socketPath, handler) => {
    const bucket = new TokenBucket(callsPerSecond, burst);
    return serveGrpc({
      socketPath,
      handlers: callsOf(handler),
      isAllowed: () => bucket.tryTake(performance.now()),
    });
  },
};

function callsOf(handler: PodResourcesHandler): readonly GrpcHandler[] {
  const { list, get, getAllocatableResources } = wire.PodResourcesListerService;
  return [
    grpcHandler(list, wire.ListPodResourcesResponse, () => handler.list()),
    grpcHandler({ ...list, path: alphaList }, wire.ListPodResourcesResponse, () =>
      handler.listDevices(),
    ),
    grpcHandler(get, wire.GetPodResourcesResponse, (request) => handler.get(request)),
    grpcHandler(getAllocatableResources, wire.AllocatableResourcesResponse, () =>
      handler.getAllocatableResources(),
    ),
  ];
}
