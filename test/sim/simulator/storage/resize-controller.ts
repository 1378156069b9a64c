import type {
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../../../src/model/generated/kubernetes.ts";
import type { Clock } from "../../../../src/ports/clock.ts";
import type { MemoryApi } from "../../memory-api.ts";
import type { Dice } from "../dice.ts";
import { diskDriver, type SimClaim, simClaims, sizeBytes } from "./storage-objects.ts";

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const volumes = "/api/v1/persistentvolumes";
const mostGibibytes = 9;
const nodeMayWork = /^NodeResize(Pending|InProgress)$/;

export interface ResizeControllerDeps {
  readonly api: MemoryApi;
  readonly clock: Clock;
  readonly dice: Dice;
  /** The controllers cannot reach the API server either. */
  readonly isDown: () => boolean;
}

/** Makes volumes larger whose claims ask for more, and leaves their file systems to the node; one that the node cannot grow is tried again. */
export class ResizeController {
  readonly #deps: ResizeControllerDeps;
  #isScheduled = false;

  constructor(deps: ResizeControllerDeps) {
    this.#deps = deps;
  }

  /** The claim asks for a larger volume. */
  grow(claim: SimClaim): void {
    const { api } = this.#deps;
    const known = this.#claim(claim);
    if (known === undefined || claim.driver !== diskDriver) return;
    const size = Number(sizeBytes(known.spec?.resources?.requests) / 2n ** 30n);
    if (size >= mostGibibytes) return;
    const resources = { requests: { storage: `${size + 1}Gi` } };
    api.put(`${claims}/${claim.claim}`, { ...known, spec: { ...known.spec, resources } });
  }

  /** A claim changed: looks in a while. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { clock, dice, isDown } = this.#deps;
    clock.startTimer(dice.between(10, 3000), () => {
      this.#isScheduled = false;
      if (isDown()) this.wake();
      else this.settle();
    });
  }

  /** Does all that is to be done. */
  settle(): void {
    for (const claim of simClaims) if (claim.driver === diskDriver) this.#reconcile(claim);
  }

  /** What the API server has of the sizes of a claim that is bound. */
  sizesOf(
    claim: SimClaim,
  ): { readonly volume: bigint; readonly claim: bigint; readonly node: string } | undefined {
    const { status } = this.#claim(claim) ?? {};
    if (status?.phase !== "Bound") return undefined;
    return {
      volume: sizeBytes(this.#volume(claim)?.spec?.capacity),
      claim: sizeBytes(status.capacity),
      node: status.allocatedResourceStatuses?.["storage"] ?? "",
    };
  }

  #reconcile(claim: SimClaim): void {
    const { api } = this.#deps;
    const known = this.#claim(claim);
    const volume = this.#volume(claim);
    const sizes = this.sizesOf(claim);
    if (known === undefined || volume === undefined || sizes === undefined) return;
    if (nodeMayWork.test(sizes.node)) return;
    const { storage = "" } = known.spec?.resources?.requests ?? {};
    if (sizeBytes({ storage }) <= sizes.volume && sizes.node === "") return;
    const capacity = { storage };
    api.put(`${volumes}/${claim.volume}`, { ...volume, spec: { ...volume.spec, capacity } });
    api.put(`${claims}/${claim.claim}`, {
      ...known,
      status: {
        ...known.status,
        allocatedResources: capacity,
        allocatedResourceStatuses: { storage: "NodeResizePending" },
        conditions: [{ type: "FileSystemResizePending", status: "True" }],
      },
    });
  }

  #claim({ claim }: SimClaim): PersistentVolumeClaim | undefined {
    return this.#deps.api.get(`${claims}/${claim}`);
  }

  #volume({ volume }: SimClaim): PersistentVolume | undefined {
    return this.#deps.api.get(`${volumes}/${volume}`);
  }
}
