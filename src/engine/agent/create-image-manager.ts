import { ImageManager, type ImageManagerDeps } from "../images/image-manager.ts";
import { PullRecords } from "../images/pull-records.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";

/** As a kubelet has it. */
const backoff = { initialMs: 10_000, maxMs: 300_000 };

/** The images of this node. */
export function createImageManager(
  ports: AgentPorts,
  { rootFolder, imagePulls }: AgentSettings,
  pods: Pick<ImageManagerDeps, "table" | "changes" | "starts">,
): ImageManager {
  const { runtime, clock, files, sha256, log, pullProgress, metrics } = ports;
  const folder = `${rootFolder}/image_manager`;
  return new ImageManager({
    ...pods,
    images: runtime,
    clock,
    metrics,
    backoff,
    pulls: imagePulls,
    progress: pullProgress,
    records: new PullRecords({ files, folder, sha256, clock, log, metrics }),
  });
}
