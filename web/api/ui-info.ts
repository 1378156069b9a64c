/** `/ui/info`. */
export interface UiInfo {
  readonly nodeName: string;
  readonly version: string;
  readonly commit: string;
  readonly nodeVersion: string;
  readonly mode: "up" | "kubelet" | "sim";
  /** Whether commands may be run in containers. */
  readonly terminal: boolean;
  /** The agent's clock when it answered, which runs `speed` times as fast as the browser's. */
  readonly nowMs: number;
  readonly speed: number;
}
