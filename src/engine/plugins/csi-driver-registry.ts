import type { CsiVersion } from "../../core/storage/csi/csi-version.ts";

export interface RegisteredCsiDriver {
  /** The path of its socket. */
  readonly endpoint: string;
  readonly version: CsiVersion;
}

/** The CSI drivers that are registered on this node. */
export class CsiDriverRegistry {
  readonly #drivers = new Map<string, RegisteredCsiDriver>();

  get drivers(): ReadonlyMap<string, RegisteredCsiDriver> {
    return this.#drivers;
  }

  set(name: string, driver: RegisteredCsiDriver): void {
    this.#drivers.set(name, driver);
  }

  delete(name: string): void {
    this.#drivers.delete(name);
  }
}
