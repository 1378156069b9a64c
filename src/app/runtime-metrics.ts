import type { GrpcObserver } from "../drivers/grpc/grpc-connection.ts";
import type { Metrics } from "../ports/metrics.ts";

/** The kubelet's names of the runtime's calls, where they are not the calls' own in snake case. */
const operationNames: Readonly<Record<string, string>> = {
  RunPodSandbox: "run_podsandbox",
  StopPodSandbox: "stop_podsandbox",
  RemovePodSandbox: "remove_podsandbox",
  PodSandboxStatus: "podsandbox_status",
  ListPodSandbox: "list_podsandbox",
  PodSandboxStats: "podsandbox_stats",
  ListPodSandboxStats: "list_podsandbox_stats",
  UpdatePodSandboxResources: "update_podsandbox_resources",
  UpdateContainerResources: "update_container",
};

/** Counts calls of the runtime, how long they take and how many fail. */
export function countRuntimeCalls(metrics: Metrics): GrpcObserver {
  return ({ method, request, error, startedMs, endedMs }) => {
    const labels = { operation_type: operationNames[method] ?? snakeCase(method) };
    const seconds = (endedMs - startedMs) / 1000;
    metrics.increment("kubelet_runtime_operations_total", labels);
    metrics.observe("kubelet_runtime_operations_duration_seconds", seconds, labels);
    if (error !== undefined) metrics.increment("kubelet_runtime_operations_errors_total", labels);
    // Who cannot be asked for its cgroup driver is not supported by the release after this one.
    if (method === "RuntimeConfig" && error?.code === "Unimplemented") {
      metrics.set("kubelet_cri_losing_support", 1, { version: "1.37.0" });
    }
    if (method !== "RunPodSandbox") return;
    const handler = { runtime_handler: runtimeHandler(request) };
    metrics.observe("kubelet_run_podsandbox_duration_seconds", seconds, handler);
    if (error !== undefined) metrics.increment("kubelet_run_podsandbox_errors_total", handler);
  };
}

function runtimeHandler(request: unknown): string {
  const isRequest = typeof request === "object" && request !== null && "runtimeHandler" in request;
  return isRequest && typeof request.runtimeHandler === "string" ? request.runtimeHandler : "";
}

function snakeCase(method: string): string {
  return method.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
