import {
  allocatableResources,
  getPodResources,
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
import type { NodeManagers } from "./node-managers.ts";

export interface PodResourcesServiceDeps {
  readonly podResourcesApi: PodResourcesApi;
  readonly files: Pick<HostFiles, "ensureFolder">;
  readonly rootFolder: string;
  readonly managers: Pick<NodeManagers, "handedOut">;
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
    const { managers, active } = this.#deps;
    return listPodResources(managers.handedOut(), active.list());
  }

  get(request: GetPodResourcesRequest): GetPodResourcesResponse {
    const { managers, registry } = this.#deps;
    const pod = registry
      .list()
      .find(
        ({ metadata }) =>
          metadata.name === request.podName && metadata.namespace === request.podNamespace,
      );
    const found = getPodResources(managers.handedOut(), request, pod);
    if (!found.ok) throw new Error(found.error);
    return found.value;
  }

  getAllocatableResources(): AllocatableResourcesResponse {
    return allocatableResources(this.#deps.managers.handedOut());
  }
}
