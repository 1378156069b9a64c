import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import { ImageManager } from "./image-manager.ts";
import { PullRecords } from "./pull-records.ts";

/** As a kubelet has it. */
const backoff = { initialMs: 10_000, maxMs: 300_000 };

/** The images of this node; `onPulls` hears of pods whose pulls under way are others now. */
export function createImageManager(
  ports: AgentPorts,
  { rootFolder, imagePulls }: AgentSettings,
  onPulls: (podUid: string) => void,
): ImageManager {
  const { runtime, clock, files, sha256, log, pullProgress } = ports;
  const folder = `${rootFolder}/image_manager`;
  return new ImageManager(runtime, clock, {
    backoff,
    pulls: imagePulls,
    onPulls,
    progress: pullProgress,
    records: new PullRecords({ files, folder, sha256, clock, log }),
  });
}
