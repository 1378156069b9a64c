import { assert } from "../../lib/assert.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ManagedPod, PodSlices, SliceName } from "./managed-pod.ts";

type Slices = { [Name in SliceName]?: PodSlices[Name] | undefined };
type Entry = { readonly uid: PodUid } & Slices;

// Entries that get their fields one by one, in any order, are dictionaries for V8; copies of this one are not.
const noSlices: { readonly [Name in SliceName]: undefined } = {
  actuated: undefined,
  admission: undefined,
  allocated: undefined,
  checkpoint: undefined,
  due: undefined,
  ephemeral: undefined,
  events: undefined,
  images: undefined,
  leaving: undefined,
  logs: undefined,
  observed: undefined,
  probes: undefined,
  reading: undefined,
  records: undefined,
  references: undefined,
  removal: undefined,
  report: undefined,
  resize: undefined,
  restarts: undefined,
  start: undefined,
  status: undefined,
  tokens: undefined,
  unfit: undefined,
  volumeUsage: undefined,
  volumes: undefined,
  wanted: undefined,
  worker: undefined,
};

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
        const entry: Entry = pods.get(uid) ?? { ...noSlices, uid };
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

  /** A slice that is written afterwards begins a new entry. */
  delete(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}
