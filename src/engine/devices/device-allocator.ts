import type {
  DeviceAnswer,
  DeviceCall,
  DeviceSteps,
} from "../../core/devices/plugin/device-calls.ts";
import type {
  ContainerDeviceRequest,
  DeviceManager,
  DeviceNodeView,
} from "../../core/devices/plugin/device-manager.ts";
import type { DeviceOptions } from "../../core/devices/plugin/device-options.ts";
import type { TopologyHint } from "../../core/devices/topology/hints.ts";
import type { HintProvider } from "../../core/devices/topology/topology-manager.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { Container, PodStatus } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { DeviceEndpoints } from "./device-endpoints.ts";
import type { DeviceStore } from "./device-store.ts";
import type { Holders } from "./holders.ts";

export interface DeviceAllocatorDeps {
  readonly store: DeviceStore;
  readonly endpoints: Pick<DeviceEndpoints, "call">;
  readonly holders: Holders;
  readonly lifetime: AbortSignal;
}

/** Gives the devices of device plugins to containers. */
export class DeviceAllocator {
  readonly #deps: DeviceAllocatorDeps;
  /** One choice at a time: what is chosen and then not given is free again for the next. */
  readonly #turns = new Semaphore(1);
  #isUnsaved = false;

  constructor(deps: DeviceAllocatorDeps) {
    this.#deps = deps;
  }

  /** Takes over what was handed out before. */
  async start(): Promise<void> {
    await this.#deps.store.start();
  }

  holds(uid: PodUid): boolean {
    return this.#deps.store.manager.podDevices.has(uid);
  }

  /** The devices and who holds them, without pods that are gone. */
  current(): DeviceManager {
    const { manager } = this.#deps.store;
    manager.releaseInactive(this.#view());
    return manager;
  }

  /** The pod's containers have ended. */
  async release(uid: PodUid): Promise<void> {
    await this.#deps.store.release(uid);
  }

  /** Whether any container of the pod asks for devices. */
  concerns(pod: Pod): boolean {
    const { manager } = this.#deps.store;
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some(
      (container) => manager.needs(pod, container).any,
    );
  }

  get provider(): HintProvider {
    const { manager } = this.#deps.store;
    return providerOf(
      manager,
      () => this.#view(),
      (begin) => this.#allocate(begin, (call) => this.#answerUnsaved(call)),
    );
  }

  /**
   * Writes down what the provider has given since the last time. A kubelet does so for each container; a pod's containers
   * start only when all of them have theirs. Returns why it cannot be written.
   */
  async save(): Promise<string | undefined> {
    if (!this.#isUnsaved) return undefined;
    const saved = await this.#answer({ method: "SaveCheckpoint" });
    return saved.kind === "failed" ? saved.error : undefined;
  }

  /** Gives devices without a trace; plugins are asked which they prefer, and nothing else. */
  rehearse(): { readonly manager: DeviceManager; readonly provider: HintProvider } {
    const manager = this.current().copy();
    // Pods that are only rehearsed are not listed anywhere: nothing is taken back from them.
    const view = (): DeviceNodeView => ({ activePods: new Set(), sourcesReady: false });
    const provider = providerOf(manager, view, (begin) =>
      finish(begin(), (call) => this.#rehearsedAnswer(call)),
    );
    return { manager, provider };
  }

  /** What a container's config gets for the devices it holds; plugins that want to are called before its start. */
  async options(
    pod: Pod,
    container: Container,
    affinity: TopologyHint,
  ): Promise<Result<DeviceOptions | undefined, string>> {
    const { manager } = this.#deps.store;
    const { any, missing } = manager.needs(pod, container);
    if (!any && manager.podDevices.ofContainer(pod.metadata.uid, container.name) === undefined) {
      return ok(undefined);
    }
    const request: ContainerDeviceRequest = { pod, container, affinity, node: this.#view() };
    const answer = (call: DeviceCall): Promise<DeviceAnswer> => this.#answer(call);
    if (missing) return await this.#allocate(() => manager.options(request), answer);
    const unsaved = await this.save();
    if (unsaved !== undefined) return err(unsaved);
    return await finish(manager.options(request), answer);
  }

  withHealth(uid: PodUid, status: PodStatus): PodStatus {
    return this.#deps.store.manager.withDeviceHealth(uid, status);
  }

  async #allocate<T>(
    begin: () => DeviceSteps<Result<T, string>>,
    answer: (call: DeviceCall) => Promise<DeviceAnswer>,
  ): Promise<Result<T, string>> {
    return await this.#turns.run(async () => {
      const done = await finish(begin(), answer);
      if (!done.ok) this.#deps.store.manager.releaseChosen();
      return done;
    }, this.#deps.lifetime);
  }

  async #answer(call: DeviceCall): Promise<DeviceAnswer> {
    const { store, endpoints } = this.#deps;
    if (call.method !== "SaveCheckpoint") return await endpoints.call(call);
    this.#isUnsaved = false;
    try {
      await store.save();
      return { kind: "done" };
    } catch (error) {
      // Nothing starts with devices that no file says it has: they are written before the next start.
      this.#isUnsaved = true;
      return { kind: "failed", error: errorText(error) };
    }
  }

  async #answerUnsaved(call: DeviceCall): Promise<DeviceAnswer> {
    if (call.method !== "SaveCheckpoint") return await this.#answer(call);
    this.#isUnsaved = true;
    return { kind: "done" };
  }

  async #rehearsedAnswer(call: DeviceCall): Promise<DeviceAnswer> {
    if (call.method === "GetPreferredAllocation") return await this.#deps.endpoints.call(call);
    return call.method === "Allocate" ? { kind: "allocated", responses: [{}] } : { kind: "done" };
  }

  #view(): DeviceNodeView {
    const { holders } = this.#deps;
    return { activePods: holders.uids(), sourcesReady: holders.areKnown };
  }
}

function providerOf(
  manager: DeviceManager,
  view: () => DeviceNodeView,
  allocate: (begin: () => DeviceSteps<Result<void, string>>) => Promise<Result<void, string>>,
): HintProvider {
  return {
    hints: (pod, container) => manager.hints(pod, container, view()),
    podHints: (pod) => manager.podHints(pod, view()),
    allocate: async (pod, container, affinity) => {
      const request = { pod, container, affinity, node: view() };
      const done = await allocate(() => manager.allocate(request));
      return done.ok ? undefined : { message: done.error };
    },
  };
}

async function finish<T>(
  steps: DeviceSteps<T>,
  answer: (call: DeviceCall) => Promise<DeviceAnswer>,
): Promise<T> {
  let next = steps.next();
  while (next.done !== true) next = steps.next(await answer(next.value));
  return next.value;
}
