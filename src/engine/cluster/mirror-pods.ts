import { isMirrorOf, planMirror } from "../../core/status/plan-mirror.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { podPath, podsPath } from "./api-path.ts";
import { deleteAtOnce, unlessStatus } from "./pod-requests.ts";

const retryLimits = { initialMs: 1_000, maxMs: 30_000 };

export interface MirrorPodsDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: () => Node | undefined;
  /** The static pod of that full name and its picture, as last seen; a pod that still ends has its picture. */
  readonly find: (fullName: string) => {
    readonly pod: Pod | undefined;
    readonly mirror: Pod | undefined;
    readonly isEnding: boolean;
    /** The pod that runs or ends under this name now: perhaps an earlier version of the pod. */
    readonly startedUid: string | undefined;
    /** The pod may be in a source that has not told yet: after a restart the pictures are known first. */
    readonly mayCome: boolean;
  };
  readonly lifetime: AbortSignal;
}

/** Keeps the API server's pictures of static pods right, off the path of the pods themselves. */
export class MirrorPods {
  readonly #deps: MirrorPodsDeps;
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();

  constructor(deps: MirrorPodsDeps) {
    this.#deps = deps;
  }

  /** Something of the static pod or its picture may have changed. */
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
    const { api, log, find, node, lifetime } = this.#deps;
    const { pod, mirror, isEnding, startedUid, mayCome } = find(fullName);
    if (pod === undefined && (isEnding || mayCome)) return;
    // An earlier version keeps its picture to its end; the new one's first status makes somebody look again.
    if (pod !== undefined && (startedUid ?? pod.metadata.uid) !== pod.metadata.uid) return;
    const step = planMirror(pod, mirror, node());
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
        const next = planMirror(pod, undefined, node());
        if (next.kind === "create") await this.#create(next.mirror);
      }
    }
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
