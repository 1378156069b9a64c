import { ImageManager } from "../images/image-manager.ts";
import { PullRecords } from "../images/pull-records.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";

/** As a kubelet has it. */
const backoff = { initialMs: 10_000, maxMs: 300_000 };

export interface ImageObserver {
  /** The pulls under way for a pod are others now. */
  readonly onPulls: (podUid: string) => void;
  /** A pull for a pod succeeded. */
  readonly onPulled: (podUid: string, durationMs: number) => void;
}

/** The images of this node. */
export function createImageManager(
  ports: AgentPorts,
  { rootFolder, imagePulls }: AgentSettings,
  { onPulls, onPulled }: ImageObserver,
): ImageManager {
  const { runtime, clock, files, sha256, log, pullProgress, metrics } = ports;
  const folder = `${rootFolder}/image_manager`;
  return new ImageManager(runtime, clock, {
    backoff,
    pulls: imagePulls,
    onPulls,
    onPulled: (podUid, sizeBytes, durationMs) => {
      onPulled(podUid, durationMs);
      metrics.observe("kubelet_image_pull_duration_seconds", durationMs / 1000, {
        image_size_in_bytes: sizeClass(sizeBytes),
      });
    },
    onRequest: (policy, presentLocally, pullRequired) =>
      metrics.increment("kubelet_image_manager_ensure_image_requests_total", {
        pull_policy: policy.toLowerCase(),
        present_locally: String(presentLocally ?? "unknown"),
        pull_required: String(pullRequired ?? "unknown"),
      }),
    progress: pullProgress,
    records: new PullRecords({ files, folder, sha256, clock, log, metrics }),
  });
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const sizeClasses: readonly (readonly [number, string])[] = [
  [100 * gibibyte, "GT100GB"],
  [60 * gibibyte, "60GB-100GB"],
  [40 * gibibyte, "40GB-60GB"],
  [30 * gibibyte, "30GB-40GB"],
  [20 * gibibyte, "20GB-30GB"],
  [10 * gibibyte, "10GB-20GB"],
  [5 * gibibyte, "5GB-10GB"],
  [gibibyte, "1GB-5GB"],
  [500 * mebibyte, "500MB-1GB"],
  [100 * mebibyte, "100MB-500MB"],
  [10 * mebibyte, "10MB-100MB"],
  [0, "0-10MB"],
];

/** As the metric names sizes; empty when the size is not known. */
function sizeClass(bytes: number): string {
  return sizeClasses.find(([bound]) => bytes > bound)?.[1] ?? "";
}
