import type { NodeStatusSettings } from "../../core/node/node-status.ts";

/** How the node registers, and how often it reports. */
export interface NodeSettings extends NodeStatusSettings {
  readonly registerNode: boolean;
  /** How often the status is computed. */
  readonly statusUpdateMs: number;
  /** How often it is reported even when nothing changed. */
  readonly statusReportMs: number;
  readonly leaseDurationSeconds: number;
}
