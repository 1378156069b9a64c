import { createHash } from "node:crypto";
import { csiAttachmentName } from "../../../../src/core/storage/csi/csi-paths.ts";
import type { Node } from "../../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../../src/model/pod.ts";
import { isMirrorPod } from "../../../../src/model/pod-source.ts";
import type { Clock } from "../../../../src/ports/clock.ts";
import type { MemoryApi } from "../../memory-api.ts";
import type { Dice } from "../dice.ts";
import { attachedName, findClaim, type SimClaim, simClaims } from "./storage-objects.ts";

const attachments = "/apis/storage.k8s.io/v1/volumeattachments";

export interface AttachControllerDeps {
  readonly api: MemoryApi;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly nodeName: string;
  /** The controllers cannot reach the API server either. */
  readonly isDown: () => boolean;
  readonly onDetach: (volume: SimClaim) => void;
}

/** Attaches volumes that pods of the node want, and detaches others once the node does not use them: each in several steps. */
export class AttachController {
  readonly #deps: AttachControllerDeps;
  /** Volumes that something is done to. */
  readonly #busy = new Set<SimClaim>();
  #isScheduled = false;

  constructor(deps: AttachControllerDeps) {
    this.#deps = deps;
  }

  /** Attachments that there are. */
  get attached(): readonly string[] {
    return this.#deps.api.list(attachments).map(({ metadata }) => metadata.name);
  }

  /** Something changed: looks in a while. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(1500, () => {
      this.#isScheduled = false;
      this.#reconcile();
    });
  }

  #reconcile(): void {
    const node = this.#node();
    if (node === undefined) return;
    const inUse = new Set(node.status?.volumesInUse ?? []);
    const wanted = this.#wanted();
    for (const volume of simClaims) {
      if (!volume.isAttachable || this.#busy.has(volume)) continue;
      const isAttached = this.#deps.api.get(this.#path(volume)) !== undefined;
      if (wanted.has(volume) && !isAttached) this.#attach(volume);
      const mayGo = isAttached && !wanted.has(volume) && !inUse.has(attachedName(volume));
      if (mayGo) this.#detach(volume);
      // One that was wanted again before it was detached.
      else if (isAttached) this.#report(volume, true);
    }
  }

  #attach(volume: SimClaim): void {
    const { api, nodeName } = this.#deps;
    this.#busy.add(volume);
    this.#later(2_000, () => {
      api.put(this.#path(volume), {
        apiVersion: "storage.k8s.io/v1",
        kind: "VolumeAttachment",
        spec: {
          attacher: volume.driver,
          nodeName,
          source: { persistentVolumeName: volume.volume },
        },
        status: { attached: true, attachmentMetadata: { lun: "1" } },
      });
      this.#later(500, () => this.#end(volume, true));
    });
  }

  /** The node's status no longer has it as attached; then the node is looked at again, and it goes. */
  #detach(volume: SimClaim): void {
    this.#busy.add(volume);
    this.#later(500, () => {
      this.#report(volume, false);
      this.#later(500, () => {
        const { volumesInUse = [] } = this.#node()?.status ?? {};
        if (volumesInUse.includes(attachedName(volume))) {
          this.#end(volume, true);
          return;
        }
        this.#later(1_000, () => {
          this.#deps.onDetach(volume);
          this.#deps.api.remove(this.#path(volume));
          this.#end(volume, false);
        });
      });
    });
  }

  #end(volume: SimClaim, isAttached: boolean): void {
    this.#report(volume, isAttached);
    this.#busy.delete(volume);
    this.wake();
  }

  #report(volume: SimClaim, isAttached: boolean): void {
    const node = this.#node();
    if (node === undefined) return;
    const name = attachedName(volume);
    const { volumesAttached = [] } = node.status ?? {};
    if (volumesAttached.some((each) => each.name === name) === isAttached) return;
    const others = volumesAttached.filter((each) => each.name !== name);
    const all = isAttached ? [...others, { name, devicePath: "" }] : others;
    this.#deps.api.put(this.#nodePath, {
      ...node,
      status: { ...node.status, volumesAttached: all },
    });
  }

  #wanted(): ReadonlySet<SimClaim> {
    const pods = this.#deps.api.list("/api/v1/pods") as unknown as readonly Pod[];
    const wanted = new Set<SimClaim>();
    for (const pod of pods) {
      const { phase } = pod.status ?? {};
      if (isMirrorPod(pod) || phase === "Succeeded" || phase === "Failed") continue;
      for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
        const claim = findClaim(persistentVolumeClaim?.claimName ?? "");
        if (claim !== undefined) wanted.add(claim);
      }
    }
    return wanted;
  }

  #node(): Node | undefined {
    return this.#deps.api.get(this.#nodePath);
  }

  get #nodePath(): string {
    return `/api/v1/nodes/${this.#deps.nodeName}`;
  }

  #path({ driver = "", handle }: SimClaim): string {
    const { nodeName } = this.#deps;
    return `${attachments}/${csiAttachmentName({ handle, driver, nodeName }, sha256)}`;
  }

  #later(mostMs: number, work: () => void): void {
    const { clock, dice, isDown } = this.#deps;
    clock.startTimer(dice.between(10, mostMs), () => {
      if (isDown()) this.#later(mostMs, work);
      else work();
    });
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
