import type { CpuManager } from "../../core/devices/cpu/cpu-manager.ts";
import { freeCpus } from "../../core/devices/cpu/static-policy.ts";
import type { ClaimInfo } from "../../core/devices/dra/claim-info.ts";
import type { DraPlugin } from "../../core/devices/dra/dra-drivers.ts";
import type { MemoryManager } from "../../core/devices/memory/memory-manager.ts";
import {
  type AdmissionFailure,
  misalignedReason,
} from "../../core/devices/topology/allocation-error.ts";
import type { HintProvider } from "../../core/devices/topology/topology-manager.ts";
import type { Result } from "../../lib/result.ts";
import type { CpuSet } from "../../model/cpu-set.ts";
import { grpcCodeName } from "../../model/csi-call-error.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { ManagerSettings } from "./manager-settings.ts";

export interface ManagerMetricsDeps {
  readonly metrics: Metrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly settings: { readonly node: { readonly managers: ManagerSettings } };
}

type Alignment = Readonly<Record<"scope" | "boundary", string>>;

const podResourcesVersion = { server_api_version: "v1" };
const aligned = "kubelet_container_aligned_compute_resources_count";
const misaligned = "kubelet_container_aligned_compute_resources_failure_count";
const wholeCores: Alignment = { scope: "container", boundary: "physical_cpu" };
const oneCache: Alignment = { scope: "container", boundary: "uncore_cache" };

/** Counts what the managers hand out, under the kubelet's names. */
export class ManagerMetrics {
  readonly #deps: ManagerMetricsDeps;

  constructor(deps: ManagerMetricsDeps) {
    this.#deps = deps;
  }

  /** Shows those that a kubelet shows before it has counted any. */
  start(): void {
    const { metrics } = this.#deps;
    const scopes = ["container", "pod"].map((scope) => ({ scope, boundary: "numa_node" }));
    const isStatic = this.#settings.cpu.exclusive !== undefined;
    const successes = isStatic ? [...scopes, wholeCores, oneCache] : scopes;
    const failures = isStatic ? [...scopes, wholeCores] : scopes;
    for (const alignment of successes) metrics.increment(aligned, alignment, 0);
    for (const alignment of failures) metrics.increment(misaligned, alignment, 0);
  }

  /** The manager, with its allocations counted. */
  countCpus(cpus: CpuManager): HintProvider {
    return {
      hints: (pod, container) => cpus.hints(pod, container),
      podHints: (pod) => cpus.podHints(pod),
      allocate: (pod, container, affinity) => {
        const ref = { podUid: pod.metadata.uid, container: container.name };
        const before = cpus.exclusiveCpus(ref);
        const error = cpus.allocate(pod, container, affinity);
        if (cpus.pins(pod, container)) {
          const after = cpus.exclusiveCpus(ref);
          this.#notePinnedCpus(error !== undefined, before === after ? [] : after);
        }
        return error;
      },
    };
  }

  /** The manager, with its allocations counted. */
  countMemory(memory: MemoryManager): HintProvider {
    return {
      hints: (pod, container) => memory.hints(pod, container),
      podHints: (pod) => memory.podHints(pod),
      allocate: (pod, container, affinity) => {
        const error = memory.allocate(pod, container, affinity);
        if (!memory.pins(pod)) return error;
        const { metrics } = this.#deps;
        metrics.increment("kubelet_memory_manager_pinning_requests_total");
        if (error !== undefined) metrics.increment("kubelet_memory_manager_pinning_errors_total");
        return error;
      },
    };
  }

  #notePinnedCpus(isError: boolean, newCpus: CpuSet): void {
    const { metrics } = this.#deps;
    const { exclusive, topology } = this.#settings.cpu;
    metrics.increment("kubelet_cpu_manager_pinning_requests_total");
    if (isError) metrics.increment("kubelet_cpu_manager_pinning_errors_total");
    if (exclusive?.options.has("full-pcpus-only") === true) {
      metrics.increment(isError ? misaligned : aligned, wholeCores);
    }
    const caches = new Set(newCpus.map((cpu) => topology.places.get(cpu)?.uncoreCache));
    if (caches.size === 1) metrics.increment(aligned, oneCache);
  }

  /** Every pod that comes is one, also one that asks for nothing of this kind. */
  noteAdmission(pod: Pod, failure: AdmissionFailure | undefined, durationMs: number): void {
    const { metrics } = this.#deps;
    const { name, scope } = this.#settings.topology;
    metrics.increment("kubelet_topology_manager_admission_requests_total");
    metrics.observe("kubelet_topology_manager_admission_duration_ms", Math.floor(durationMs));
    if (failure !== undefined) {
      metrics.increment("kubelet_topology_manager_admission_errors_total");
    }
    // With other policies what a container gets need not be on one node.
    if (name !== "single-numa-node") return;
    const alignment = { scope, boundary: "numa_node" };
    if (failure?.reason === misalignedReason) metrics.increment(misaligned, alignment);
    if (failure !== undefined) return;
    const { initContainers = [], containers } = pod.spec;
    const count = scope === "pod" ? 1 : initContainers.length + containers.length;
    metrics.increment(aligned, alignment, count);
  }

  /** A device plugin called Register. */
  noteRegistration(resource: string): void {
    const labels = { resource_name: resource };
    this.#deps.metrics.increment("kubelet_device_plugin_registration_total", labels);
  }

  async measureAllocation<T>(resource: string, allocate: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.#deps;
    const beganMs = clock.monotonicMs();
    try {
      return await allocate();
    } finally {
      const seconds = (clock.monotonicMs() - beganMs) / 1000;
      const labels = { resource_name: resource };
      metrics.observe("kubelet_device_plugin_alloc_duration_seconds", seconds, labels);
    }
  }

  /** All claims of a pod, when it starts or has ended. */
  async measureClaims<T>(
    operation: "PrepareResources" | "UnprepareResources",
    work: () => Promise<Result<T, string>>,
  ): Promise<Result<T, string>> {
    const { metrics, clock } = this.#deps;
    const beganMs = clock.monotonicMs();
    const done = await work();
    const seconds = (clock.monotonicMs() - beganMs) / 1000;
    const labels = { operation_name: operation, is_error: String(!done.ok) };
    metrics.observe("dra_operations_duration_seconds", seconds, labels);
    return done;
  }

  /** A call of a DRA driver. */
  async measureDriver<T>(
    { driver, service }: Pick<DraPlugin, "driver" | "service">,
    method: string,
    call: () => Promise<T>,
  ): Promise<T> {
    const { metrics, clock } = this.#deps;
    const beganMs = clock.monotonicMs();
    let code = "OK";
    try {
      return await call();
    } catch (error) {
      code = error instanceof RuntimeError ? grpcCodeName(error.code) : "Unknown";
      throw error;
    } finally {
      metrics.observe(
        "dra_grpc_operations_duration_seconds",
        (clock.monotonicMs() - beganMs) / 1000,
        {
          driver_name: driver,
          method_name: `/k8s.io.kubelet.pkg.apis.dra.${service}/${method}`,
          grpc_status_code: code,
        },
      );
    }
  }

  /** A call of the pod resources API. */
  notePodResources(call: "list" | "get" | "get_allocatable"): void {
    const { metrics } = this.#deps;
    metrics.increment("kubelet_pod_resources_endpoint_requests_total", podResourcesVersion);
    metrics.increment(`kubelet_pod_resources_endpoint_requests_${call}`, podResourcesVersion);
  }

  /** A call of its version v1alpha1. */
  notePodResourcesAlpha(): void {
    const version = { server_api_version: "v1alpha1" };
    this.#deps.metrics.increment("kubelet_pod_resources_endpoint_requests_total", version);
  }

  notePodResourcesError(): void {
    const { metrics } = this.#deps;
    metrics.increment("kubelet_pod_resources_endpoint_errors_get", podResourcesVersion);
  }

  /** Sets the gauges of what is handed out now. */
  collect(cpus: CpuManager, claims: readonly ClaimInfo[]): void {
    this.#collectCpus(cpus);
    const { metrics } = this.#deps;
    const prepared = claims.filter(({ isPrepared }) => isPrepared);
    metrics.reset("dra_resource_claims_in_use");
    metrics.set("dra_resource_claims_in_use", prepared.length, { driver_name: "<any>" });
    for (const { drivers } of prepared) {
      for (const driver of drivers.keys()) {
        metrics.increment("dra_resource_claims_in_use", { driver_name: driver });
      }
    }
  }

  #collectCpus(cpus: CpuManager): void {
    const { metrics } = this.#deps;
    const { exclusive, topology } = this.#settings.cpu;
    if (exclusive === undefined) return;
    const free = freeCpus(exclusive, cpus.state).length;
    metrics.set("kubelet_cpu_manager_shared_pool_size_millicores", free * 1000);
    const held = new Set(
      Array.from(cpus.state.assignments.values()).flatMap((ofPod) => [...ofPod.values()].flat()),
    );
    metrics.set("kubelet_cpu_manager_exclusive_cpu_allocation_count", held.size);
    const counts = new Map<number, number>();
    for (const [cpu, { numaNode }] of topology.places) {
      counts.set(numaNode, (counts.get(numaNode) ?? 0) + (held.has(cpu) ? 1 : 0));
    }
    for (const [node, count] of counts) {
      metrics.set("kubelet_cpu_manager_allocation_per_numa", count, { numa_node: String(node) });
    }
  }

  get #settings(): ManagerSettings {
    return this.#deps.settings.node.managers;
  }
}
