import type { PodUid } from "../../../model/ids.ts";

/** A device that a driver prepared for a claim. */
export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  readonly shareId: string | undefined;
  /** The claim's requests that it is for; none: for all of them. */
  readonly requests: readonly string[];
  readonly cdiDevices: readonly string[];
}

/** A claim that was prepared for pods of this node, or is about to be. */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The pods that use it. */
  readonly pods: ReadonlySet<PodUid>;
  /** All drivers of its allocation, with what they prepared. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
  /** By this agent: what a past one prepared is prepared again, which drivers have to allow. */
  readonly isPrepared: boolean;
}

/** The claims in use on the node. */
export class ClaimInfos {
  readonly #claims = new Map<string, ClaimInfo>();

  constructor(claims: Iterable<ClaimInfo> = []) {
    for (const claim of claims) this.set(claim);
  }

  get(namespace: string, name: string): ClaimInfo | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  set(claim: ClaimInfo): void {
    this.#claims.set(`${claim.namespace}/${claim.name}`, claim);
  }

  delete(namespace: string, name: string): void {
    this.#claims.delete(`${namespace}/${name}`);
  }

  all(): ClaimInfo[] {
    return [...this.#claims.values()];
  }
}

/** The CDI devices of a claim that are for a request; without one, all of them. */
export function cdiDevicesFor({ drivers }: ClaimInfo, request: string): string[] {
  return [...drivers.values()]
    .flat()
    .filter(({ requests }) => request === "" || requests.length === 0 || requests.includes(request))
    .flatMap(({ cdiDevices }) => cdiDevices);
}
