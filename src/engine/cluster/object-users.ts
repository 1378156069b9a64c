import {
  type ObjectName,
  type PodReferences,
  type ReferencedKind,
  refersTo,
} from "../../core/cluster/pod-references.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";

/** Which pods refer to which objects. */
export class ObjectUsers {
  readonly #references: SliceWriter<"references">;
  readonly #wakeups: Pick<Wakeups, "look">;

  constructor(table: PodTable, wakeups: Pick<Wakeups, "look">) {
    this.#references = table.writer("references");
    this.#wakeups = wakeups;
  }

  /** Undefined = to nothing. Returns what the pod referred to before. */
  setReferences(podUid: PodUid, references: PodReferences | undefined): PodReferences | undefined {
    const before = this.#references.get(podUid);
    this.#references.set(podUid, references);
    return before;
  }

  hasUser(kind: ReferencedKind, object: ObjectName): boolean {
    return this.#find(kind, object).next().done !== true;
  }

  /** The pods that refer to the object are synced soon. */
  noteChange(kind: ReferencedKind, object: ObjectName): void {
    for (const podUid of this.#find(kind, object)) this.#wakeups.look(podUid);
  }

  *#find(kind: ReferencedKind, object: ObjectName): Generator<PodUid, void> {
    for (const [podUid, references] of this.#references.entries()) {
      if (refersTo(references, kind, object)) yield podUid;
    }
  }
}
