import { isMirrorOf, planMirror } from "../../core/status/plan-mirror.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import { deleteAtOnce, podPath, podsPath, unlessStatus } from "./pod-requests.ts";
import type { Reflector } from "./reflector.ts";

const retryLimits = { initialMs: 1_000, maxMs: 30_000 };

export interface MirrorPodsDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodes: Pick<Reflector<Node>, "items">;
  readonly nodeName: string;
  readonly registry: Pick<PodRegistry, "staticPod" | "mirror">;
  readonly states: Pick<
    WorkerStates,
    "isPodForMirrorPodTerminatingByFullName" | "startedStaticPod"
  >;
  readonly sources: Pick<SourceReadiness, "areAllReady">;
  readonly lifetime: AbortSignal;
}

/** Keeps the mirror pods of static pods right, off the path of the pods themselves. */
export class MirrorPods {
  readonly #deps: MirrorPodsDeps;
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();

  constructor(deps: MirrorPodsDeps) {
    this.#deps = deps;
  }

  /** Something of the static pod or its mirror pod may have changed. */
  look(fullName: string): void {
    if (this.#busy.has(fullName)) {
      this.#again.add(fullName);
      return;
    }
    this.#busy.add(fullName);
    void this.#work(fullName).finally(() => {
      this.#busy.delete(fullName);
      if (this.#again.delete(fullName)) this.look(fullName);
    });
  }

  async #work(fullName: string): Promise<void> {
    const { clock, log, lifetime } = this.#deps;
    const backoff = new Backoff(retryLimits);
    while (!lifetime.aborted) {
      this.#again.delete(fullName);
      try {
        await this.#correct(fullName);
        return;
      } catch (error) {
        if (lifetime.aborted) return;
        const fields = { pod: fullName, error: errorText(error) };
        log.warn("cannot correct a mirror pod, trying again", fields);
        await clock.sleep(backoff.nextMs(), lifetime).catch(() => undefined);
      }
    }
  }

  async #correct(fullName: string): Promise<void> {
    const { api, log, lifetime, registry, states, sources } = this.#deps;
    const pod = registry.staticPod(fullName);
    const mirror = registry.mirror(fullName);
    if (pod === undefined) {
      // One that still ends keeps its mirror pod; another may be in a source that has not delivered yet.
      if (states.isPodForMirrorPodTerminatingByFullName(fullName) || !sources.areAllReady) return;
    }
    const startedUid = states.startedStaticPod(fullName);
    // An earlier version keeps its mirror pod to its end; the first status of the new one checks again.
    if (pod !== undefined && (startedUid ?? pod.metadata.uid) !== pod.metadata.uid) return;
    const step = planMirror(pod, mirror, this.#node);
    switch (step.kind) {
      case "none":
        return;
      case "create":
        await this.#create(step.mirror);
        return;
      case "delete": {
        const { metadata } = step.mirror;
        log.info("deleting a mirror pod", { pod: podKey(step.mirror), because: step.because });
        const body = deleteAtOnce(metadata.uid);
        const path = podPath(metadata);
        await unlessStatus([404, 409], api.send({ method: "DELETE", path, body }, lifetime));
        const next = planMirror(pod, undefined, this.#node);
        if (next.kind === "create") await this.#create(next.mirror);
      }
    }
  }

  get #node(): Node | undefined {
    return this.#deps.nodes.items.get(this.#deps.nodeName);
  }

  async #create(mirror: Pod): Promise<void> {
    const { api, lifetime } = this.#deps;
    const path = podsPath(mirror.metadata.namespace);
    const created = await unlessStatus(
      [409],
      api.send<Pod>({ method: "POST", path, body: mirror }, lifetime),
    );
    if (created !== undefined) return;
    const there = await api.send<Pod>({ method: "GET", path: podPath(mirror.metadata) }, lifetime);
    if (!isMirrorOf(there, mirror)) {
      throw new Error("the API server has another pod of this name");
    }
  }
}
