// Every domain that Berth answers for. One line here and one file in domains/ add a domain.
import { atomicWriter } from "./domains/atomic-writer.ts";
import { cgroupNames } from "./domains/cgroup-names.ts";
import { computePodActions } from "./domains/compute-pod-actions.ts";
import { computePodActionsEnum } from "./domains/compute-pod-actions-enum.ts";
import { computePodActionsResize } from "./domains/compute-pod-actions-resize.ts";
import { configMux } from "./domains/config-mux.ts";
import { containerGc } from "./domains/container-gc.ts";
import { containerHash } from "./domains/container-hash.ts";
import { containerMountsDomain } from "./domains/container-mounts.ts";
import { cpuConversions } from "./domains/cpu-conversions.ts";
import { cpuManagerDomain } from "./domains/cpu-manager.ts";
import { cpuManagerAlphaDomain } from "./domains/cpu-manager-alpha.ts";
import { cpuTopologyDomain } from "./domains/cpu-topology.ts";
import { cpusetDomain } from "./domains/cpuset.ts";
import { crashloopBackoff } from "./domains/crashloop-backoff.ts";
import { criConfigs } from "./domains/cri-configs.ts";
import { criContainerStatus } from "./domains/cri-container-status.ts";
import { criLogs } from "./domains/cri-logs.ts";
import { csiBlock } from "./domains/csi-block.ts";
import { csiCalls } from "./domains/csi-calls.ts";
import { csiNode } from "./domains/csi-node.ts";
import { deviceManager } from "./domains/device-manager.ts";
import { dnsConfig } from "./domains/dns-config.ts";
import { dra } from "./domains/dra.ts";
import { envVars } from "./domains/env-vars.ts";
import { ephemeralClaims } from "./domains/ephemeral-claims.ts";
import { eventCorrelation } from "./domains/event-correlation.ts";
import { evictionManager } from "./domains/eviction-manager.ts";
import { evictionRanking } from "./domains/eviction-ranking.ts";
import { evictionThresholds } from "./domains/eviction-thresholds.ts";
import { expansion } from "./domains/expansion.ts";
import { getPhase } from "./domains/get-phase.ts";
import { hostsFile } from "./domains/hosts-file.ts";
import { httpAuthz } from "./domains/http-authz.ts";
import { httpProbe } from "./domains/http-probe.ts";
import { httpStreamingApi } from "./domains/http-streaming-api.ts";
import { imageGc } from "./domains/image-gc.ts";
import { imageNames } from "./domains/image-names.ts";
import { imagePull } from "./domains/image-pull.ts";
import { internalLifecycle } from "./domains/internal-lifecycle.ts";
import { killGrace } from "./domains/kill-grace.ts";
import { kubeletConfig } from "./domains/kubelet-config.ts";
import { kubeletConfigDropins } from "./domains/kubelet-config-dropins.ts";
import { kubeletConfigFlags } from "./domains/kubelet-config-flags.ts";
import { logRotation } from "./domains/log-rotation.ts";
import { memoryManagerDomain } from "./domains/memory-manager.ts";
import { mountUtils } from "./domains/mount-utils.ts";
import { nodeAddressesDomain } from "./domains/node-addresses.ts";
import { nodeAllocatableDomain } from "./domains/node-allocatable.ts";
import { nodeCapacityDomain } from "./domains/node-capacity.ts";
import { nodeConditionsDomain } from "./domains/node-conditions.ts";
import { nodeImagesDomain } from "./domains/node-images.ts";
import { nodeRegistrationDomain } from "./domains/node-registration.ts";
import { paths } from "./domains/paths.ts";
import { plegEvents } from "./domains/pleg-events.ts";
import { pluginRegistration } from "./domains/plugin-registration.ts";
import { podAdmission } from "./domains/pod-admission.ts";
import { podHostname } from "./domains/pod-hostname.ts";
import { podResources } from "./domains/pod-resources.ts";
import { podResourcesApi } from "./domains/pod-resources-api.ts";
import { podStatus } from "./domains/pod-status.ts";
import { podWorkers } from "./domains/pod-workers.ts";
import { probeWorker } from "./domains/probe-worker.ts";
import { quantity } from "./domains/quantity.ts";
import { reservedResources } from "./domains/reserved-resources.ts";
import { resizeAllocation } from "./domains/resize-allocation.ts";
import { staticPodDir } from "./domains/static-pod-dir.ts";
import { staticPods } from "./domains/static-pods.ts";
import { statusConditions } from "./domains/status-conditions.ts";
import { statusManager } from "./domains/status-manager.ts";
import { statusMerge } from "./domains/status-merge.ts";
import { syncPodCri } from "./domains/sync-pod-cri.ts";
import { terminationOrder } from "./domains/termination-order.ts";
import { topologyManagerDomain } from "./domains/topology-manager.ts";
import { volumeFc } from "./domains/volume-fc.ts";
import { volumeIscsi } from "./domains/volume-iscsi.ts";
import { volumeLocal } from "./domains/volume-local.ts";
import { volumeNfs } from "./domains/volume-nfs.ts";
import { volumeOperationMetrics } from "./domains/volume-operation-metrics.ts";
import { volumeOperations } from "./domains/volume-operations.ts";
import { volumeOwnership } from "./domains/volume-ownership.ts";
import { volumePaths } from "./domains/volume-paths.ts";
import { volumePayload } from "./domains/volume-payload.ts";
import { volumeReconcile } from "./domains/volume-reconcile.ts";
import { volumeResolution } from "./domains/volume-resolution.ts";
import { volumeStatsMetrics } from "./domains/volume-stats-metrics.ts";
import { yaml } from "./domains/yaml.ts";
import type { VectorDomain } from "./vector-domain.ts";

export const vectorDomains: readonly VectorDomain[] = [
  atomicWriter,
  cgroupNames,
  computePodActions,
  computePodActionsEnum,
  computePodActionsResize,
  configMux,
  containerGc,
  containerHash,
  containerMountsDomain,
  cpuConversions,
  cpuManagerDomain,
  cpuManagerAlphaDomain,
  cpuTopologyDomain,
  cpusetDomain,
  crashloopBackoff,
  criConfigs,
  criContainerStatus,
  criLogs,
  csiNode,
  csiBlock,
  csiCalls,
  deviceManager,
  dnsConfig,
  dra,
  envVars,
  ephemeralClaims,
  eventCorrelation,
  evictionManager,
  evictionRanking,
  evictionThresholds,
  expansion,
  getPhase,
  hostsFile,
  httpAuthz,
  httpProbe,
  httpStreamingApi,
  imageGc,
  imageNames,
  imagePull,
  internalLifecycle,
  killGrace,
  kubeletConfig,
  kubeletConfigDropins,
  kubeletConfigFlags,
  logRotation,
  memoryManagerDomain,
  mountUtils,
  nodeAddressesDomain,
  nodeAllocatableDomain,
  nodeCapacityDomain,
  nodeConditionsDomain,
  nodeImagesDomain,
  nodeRegistrationDomain,
  paths,
  plegEvents,
  pluginRegistration,
  podAdmission,
  podHostname,
  podResources,
  podResourcesApi,
  podStatus,
  podWorkers,
  probeWorker,
  quantity,
  reservedResources,
  resizeAllocation,
  staticPodDir,
  staticPods,
  statusConditions,
  statusManager,
  statusMerge,
  syncPodCri,
  terminationOrder,
  topologyManagerDomain,
  volumeOperationMetrics,
  volumeOperations,
  volumeLocal,
  volumeNfs,
  volumeFc,
  volumeIscsi,
  volumeOwnership,
  volumePaths,
  volumePayload,
  volumeReconcile,
  volumeResolution,
  volumeStatsMetrics,
  yaml,
];
