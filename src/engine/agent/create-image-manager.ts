import { ImageManager, type PullObserver } from "../images/image-manager.ts";
import { PullRecords } from "../images/pull-records.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";

/** As a kubelet has it. */
const backoff = { initialMs: 10_000, maxMs: 300_000 };

/** The images of this node. */
export function createImageManager(
  ports: AgentPorts,
  { rootFolder, imagePulls }: AgentSettings,
  table: PodTable,
  observer: PullObserver,
): ImageManager {
  const { runtime, clock, files, sha256, log, pullProgress, metrics } = ports;
  const folder = `${rootFolder}/image_manager`;
  return new ImageManager({
    table,
    images: runtime,
    clock,
    metrics,
    backoff,
    pulls: imagePulls,
    observer,
    progress: pullProgress,
    records: new PullRecords({ files, folder, sha256, clock, log, metrics }),
  });
}
