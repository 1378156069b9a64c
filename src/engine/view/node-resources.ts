import type { Holding, NodeDescription, RehearsedPod } from "../../model/holding.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import type { Rehearsal } from "../devices/rehearsal.ts";
import type { NodeRoom } from "../intake/node-room.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { ActivePods } from "../pods/active-pods.ts";

export interface NodeResourcesDeps {
  readonly managers: Pick<NodeManagers, "holdings" | "policies" | "resources" | "rehearse">;
  readonly active: Pick<ActivePods, "list" | "listGranted">;
  readonly node: Pick<KnownNode, "current">;
  readonly room: Pick<NodeRoom, "judge">;
}

/** What the node has, who has it for themselves, and what other pods would get. */
export class NodeResources {
  readonly #deps: NodeResourcesDeps;

  constructor(deps: NodeResourcesDeps) {
    this.#deps = deps;
  }

  holdings(pod: Pod): readonly Holding[] {
    return this.#deps.managers.holdings(pod);
  }

  describe(): NodeDescription {
    const { managers, active } = this.#deps;
    const node = this.#deps.node.current;
    return {
      node,
      policies: managers.policies,
      resources: managers.resources(node),
      holdings: active.list().flatMap((pod) => {
        const { namespace, name, uid } = pod.metadata;
        return managers
          .holdings(pod)
          .map((holding) => ({ pod: { namespace, name, uid }, ...holding }));
      }),
    };
  }

  /** What would become of these pods if they came now, in this order. Nothing is changed. */
  async rehearse(pods: readonly Pod[]): Promise<readonly RehearsedPod[]> {
    const rehearsal = this.#deps.managers.rehearse();
    let others = this.#deps.active.listGranted();
    const answers: RehearsedPod[] = [];
    for (const pod of pods) {
      // It takes the place of one of its name, which gives back what it has before.
      const replaced = others.filter((other) => podKey(other) === podKey(pod));
      const answer = await this.#rehearseOne(rehearsal, pod, { others, replaced });
      const { victims } = answer;
      others = others.filter((other) => !replaced.includes(other) && !victims.includes(other));
      if (answer.refusal === undefined) others = [...others, pod];
      const { refusal, holdings } = answer;
      answers.push({ refusal, holdings, makesRoom: victims.map(podKey) });
    }
    return answers;
  }

  async #rehearseOne(
    rehearsal: Rehearsal,
    pod: Pod,
    beside: { readonly others: readonly Pod[]; readonly replaced: readonly Pod[] },
  ): Promise<Pick<RehearsedPod, "refusal" | "holdings"> & { readonly victims: readonly Pod[] }> {
    const { uid } = pod.metadata;
    const others = beside.others.filter((other) => !beside.replaced.includes(other));
    const { result, victims } = this.#deps.room.judge(pod, others);
    if (!result.admit) {
      const { reason, message } = result;
      return { refusal: { reason, message }, holdings: [], victims: [] };
    }
    for (const { metadata } of [...beside.replaced, ...victims]) {
      if (metadata.uid !== uid) rehearsal.release(metadata.uid);
    }
    const refusal = await rehearsal.admit(pod);
    return { refusal, holdings: rehearsal.holdings(pod), victims };
  }
}
