import type { Container } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";

/** The pods of a vector that are active, in the order in which steps named them. */
export class ActivePods {
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #active = new Set<string>();

  constructor(pods: readonly Pod[]) {
    this.#pods = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  }

  add(uid: string): void {
    this.#active.add(uid);
  }

  remove(uid: string): void {
    this.#active.delete(uid);
  }

  list(): Pod[] {
    return Array.from(this.#active, (uid) => this.get(uid));
  }

  get(uid: string): Pod {
    const pod = this.#pods.get(uid);
    if (pod === undefined) throw new Error(`the vector does not have a pod ${uid}`);
    return pod;
  }

  find(step: { readonly pod: string; readonly container: string }): {
    pod: Pod;
    container: Container;
  } {
    const pod = this.get(step.pod);
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
      ({ name }) => name === step.container,
    );
    if (container === undefined) throw new Error(`the pod does not have ${step.container}`);
    return { pod, container };
  }
}
