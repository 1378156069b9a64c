import { isMirrorOf } from "../../core/status/plan-mirror.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../model/pod-source.ts";
import type { PodTable, SliceWriter } from "./pod-table.ts";

/** The pods that the sources want now. Mirror pods are held apart, by full name: they are copies of static pods. */
export class PodRegistry {
  readonly #pods: SliceWriter<"wanted">;
  readonly #mirrors = new Map<string, Pod>();

  constructor(table: PodTable) {
    this.#pods = table.writer("wanted");
  }

  set(pod: Pod): void {
    if (isMirrorPod(pod)) this.#mirrors.set(podFullName(pod), pod);
    else this.#pods.set(pod.metadata.uid, pod);
  }

  remove(pod: Pod): void {
    if (isMirrorPod(pod)) this.#mirrors.delete(podFullName(pod));
    else this.#pods.set(pod.metadata.uid, undefined);
  }

  get(uid: PodUid): Pod | undefined {
    return this.#pods.get(uid);
  }

  /** What the API server shows of this version of the pod: another one's status says nothing about it. */
  mirrorOf(pod: Pod): Pod | undefined {
    const mirror = this.#mirrors.get(podFullName(pod));
    return mirror !== undefined && isMirrorOf(mirror, pod) ? mirror : undefined;
  }

  get mirrorCount(): number {
    return this.#mirrors.size;
  }

  mirror(fullName: string): Pod | undefined {
    return this.#mirrors.get(fullName);
  }

  staticPod(fullName: string): Pod | undefined {
    return this.list().find((pod) => isStaticPod(pod) && podFullName(pod) === fullName);
  }

  /** Full names of all that has a mirror pod or should have one. */
  mirrorableNames(): ReadonlySet<string> {
    return new Set([...this.#mirrors.keys(), ...this.list().filter(isStaticPod).map(podFullName)]);
  }

  list(): readonly Pod[] {
    return [...this.#pods.entries()].map(([, pod]) => pod);
  }
}
