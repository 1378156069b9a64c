import type { ExplainedDifference } from "./differences.ts";

const OTHER_PROGRAM = "Counts the inside of Go programs and of libraries that Berth does not use.";
const NOT_BERTHS = "Counts what Berth does not do.";
const NOT_YET = "Is shown once there was something to count.";
const PRESSURE =
  "Berth reads the pressure of every cgroup itself; the recorded runtime did not report it.";
const UNMEASURED = "The recorded kubelet had just started, and had not measured these yet.";
const CRASHING = "One of the pods runs only now and then.";
const NO_LIMIT = "Without a limit nothing is said of what is left; the recorded runtime said 0.";

/** Where Berth's answers differ from the recorded kubelet's on purpose, or because the machine is another. */
export const httpDifferences: readonly ExplainedDifference[] = [
  ...explain("configz", "The test listens elsewhere, and knows clients by their tokens.", [
    "body.kubeletconfig.address",
    "body.kubeletconfig.*ort",
    "body.kubeletconfig.authentication.x509.clientCAFile",
  ]),
  ...explain("containerLogs", "What a container writes is never to be taken for a page.", [
    "content-type",
    "x-content-type-options",
  ]),
  ...explain("healthz", "Berth does not check the socket of device plugins there.", ["body"]),
  ...explain("metrics-slis", "The start time is written as Prometheus clients write it.", [
    "process_start_time_seconds.stability",
  ]),
  ...explain("metrics-probes", "The start time is written as Prometheus clients write it.", [
    "process_start_time_seconds.stability",
  ]),
  ...explain("metrics-cadvisor", PRESSURE, ["with container_pressure_*"]),
  ...explain("metrics", OTHER_PROGRAM, [
    "without go_*",
    "without aggregator_*",
    "without apiserver_*",
    "without cardinality_enforcement_*",
    "without *ed_metrics_total",
    "without hidden_metrics_total",
    "without workqueue_*",
    "without rest_client_*",
  ]),
  ...explain("metrics", NOT_BERTHS, [
    "without dra_*",
    "without kubelet_evented_pleg_*",
    "without kubelet_imagemanager_inmemory_*",
    "without kubelet_pod_watch_events_dropped_total",
  ]),
  ...sometimes("metrics", NOT_YET, [
    "with kubelet_container_aligned_compute_resources_*",
    "without kubelet_admission_rejections_total",
    "without kubelet_container_requested_resizes_total",
    "without kubelet_image_pull_duration_seconds",
    "without kubelet_pod_deferred_accepted_resizes_total",
    "without kubelet_pod_resize_duration_milliseconds",
    "without kubelet_started_containers_errors_total",
    "without kubelet_websocket_streaming_requests_total",
  ]),
  ...["pods", "pods-trailing"].flatMap((answer) => [
    ...sometimes(answer, "What containers do, and what their cgroups say, depends on the moment.", [
      "body.items.*.status.resources*",
      "body.items.crash.status.*",
    ]),
    ...explain(answer, "A pod from a file is as old as its life on the node.", [
      "body.items.st-conf-node.metadata.creationTimestamp",
    ]),
  ]),
  ...["stats-summary", "stats-summary-cpumem"].flatMap((answer) => [
    ...explain(answer, PRESSURE, ["body.pods.*.psi"]),
    ...explain(answer, NO_LIMIT, ["body.pods.*vailableBytes"]),
    ...sometimes(answer, CRASHING, ["body.pods.crash"]),
  ]),
  ...sometimes("runningpods", CRASHING, ["body.items.crash.*"]),
  ...sometimes("stats-summary", UNMEASURED, [
    "body.pods.*.network",
    "body.pods.*.process_stats",
    "body.pods.*.volume",
  ]),
  ...explain("stats-summary", "Every machine has its own networks.", [
    "body.node.network.interfaces.*",
  ]),
];

function explain(
  answer: string,
  because: string,
  paths: readonly string[],
): readonly ExplainedDifference[] {
  return paths.map((path) => ({ scenario: "http", pod: answer, path, because }));
}

function sometimes(
  answer: string,
  because: string,
  paths: readonly string[],
): readonly ExplainedDifference[] {
  return explain(answer, because, paths).map((entry) => ({ ...entry, isRare: true }));
}
