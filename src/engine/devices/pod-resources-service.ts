import {
  allocatableResources,
  getPodResources,
  listPodDevices,
  listPodResources,
} from "../../core/devices/pod-resources.ts";
import { podResourcesDirectory } from "../../core/paths/data-paths.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from "../../model/generated/pod-resources.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { PodResourcesApi, PodResourcesHandler } from "../../ports/pod-resources.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";
import type { ManagerSettings } from "./manager-settings.ts";
import type { NodeManagers } from "./node-managers.ts";

export interface PodResourcesServiceDeps {
  readonly podResourcesApi: PodResourcesApi;
  readonly files: Pick<HostFiles, "ensureFolder">;
  readonly rootFolder: string;
  readonly managers: Pick<NodeManagers, "handedOut">;
  readonly managerMetrics: Pick<
    ManagerMetrics,
    "notePodResources" | "notePodResourcesAlpha" | "notePodResourcesError"
  >;
  readonly settings: { readonly node: { readonly managers: Pick<ManagerSettings, "gates"> } };
  readonly active: Pick<ActivePods, "list">;
  readonly registry: Pick<PodRegistry, "list">;
}

/** Answers programs of the node that want to know what containers hold, at the socket of a kubelet. */
export class PodResourcesService implements PodResourcesHandler {
  readonly #deps: PodResourcesServiceDeps;

  constructor(deps: PodResourcesServiceDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { podResourcesApi, files, rootFolder } = this.#deps;
    const folder = podResourcesDirectory(rootFolder);
    await files.ensureFolder(folder, 0o750);
    const server = await podResourcesApi.serve(`${folder}/kubelet.sock`, this);
    await untilAborted(new Promise<never>(() => undefined), signal).catch(() => undefined);
    await server.close();
  }

  list(): ListPodResourcesResponse {
    const { managers, active, registry, managerMetrics, settings } = this.#deps;
    managerMetrics.notePodResources("list");
    const pods = settings.node.managers.gates.listsEndedPods ? registry : active;
    return listPodResources(managers.handedOut(), pods.list());
  }

  listDevices(): ListPodResourcesResponse {
    const { managers, registry, managerMetrics } = this.#deps;
    managerMetrics.notePodResourcesAlpha();
    return listPodDevices(managers.handedOut(), registry.list());
  }

  get(request: GetPodResourcesRequest): GetPodResourcesResponse {
    const { managers, registry, managerMetrics } = this.#deps;
    managerMetrics.notePodResources("get");
    const pod = registry
      .list()
      .find(
        ({ metadata }) =>
          metadata.name === request.podName && metadata.namespace === request.podNamespace,
      );
    const found = getPodResources(managers.handedOut(), request, pod);
    if (found.ok) return found.value;
    managerMetrics.notePodResourcesError();
    throw new Error(found.error);
  }

  getAllocatableResources(): AllocatableResourcesResponse {
    const { managers, managerMetrics } = this.#deps;
    managerMetrics.notePodResources("get_allocatable");
    return allocatableResources(managers.handedOut());
  }
}
