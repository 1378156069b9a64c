import { assert } from "../../lib/assert.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ManagedPod, PodSlices, SliceName } from "./managed-pod.ts";

type Slices = { [Name in SliceName]?: PodSlices[Name] | undefined };
type Entry = { readonly uid: PodUid } & Slices;

/** The right to write one slice of every pod. */
export interface SliceWriter<Name extends SliceName> {
  get(uid: PodUid): PodSlices[Name] | undefined;
  /** Undefined takes the slice away; a value makes an entry for a pod that has none. */
  set(uid: PodUid, value: PodSlices[Name] | undefined): void;
  /** Of all pods that have the slice, in the order in which the pods came. Slices may be set meanwhile. */
  entries(): IterableIterator<readonly [uid: PodUid, value: PodSlices[Name]]>;
}

/** The pods of the node: the only map keyed by pod UID in the engine. */
export class PodTable {
  readonly #pods = new Map<PodUid, Entry>();
  readonly #written = new Set<SliceName>();

  get(uid: PodUid): ManagedPod | undefined {
    return this.#pods.get(uid);
  }

  /** In the order in which they came. Pods may be forgotten meanwhile. */
  all(): IterableIterator<ManagedPod> {
    return this.#pods.values();
  }

  /** The one writer of that slice: asking twice is a mistake of the program. */
  writer<Name extends SliceName>(name: Name): SliceWriter<Name> {
    assert(!this.#written.has(name), `the slice ${name} has a writer already`);
    this.#written.add(name);
    const pods = this.#pods;
    return {
      get: (uid) => {
        const slices: Slices | undefined = pods.get(uid);
        return slices?.[name];
      },
      set: (uid, value) => {
        const entry: Entry = pods.get(uid) ?? { uid };
        const slices: Slices = entry;
        slices[name] = value;
        if (value !== undefined) pods.set(uid, entry);
      },
      *entries() {
        for (const entry of pods.values()) {
          const slices: Slices = entry;
          const value = slices[name];
          if (value !== undefined) yield [entry.uid, value];
        }
      },
    };
  }

  /** Whoever writes a slice of the pod afterwards begins a new entry. */
  delete(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}
