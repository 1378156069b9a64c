import { nfsPlugin } from "../../../src/engine/volumes/nfs/nfs-plugin.ts";
import {
  errorReport,
  kubeletRoot,
  type StoragePluginInput,
  StoragePluginWorld,
  setUpReport,
  withoutFailedVolumes,
} from "../storage-plugin-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface NfsInput extends StoragePluginInput {
  readonly steps: readonly { readonly op: "setUp" | "tearDown" }[];
}

const never = new AbortController().signal;

export const volumeNfs: VectorDomain = vectorDomain<NfsInput>(
  "volume-nfs",
  async (input) => {
    const world = new StoragePluginWorld(input);
    const { files, mounts, foreignFiles } = world;
    const plugin = nfsPlugin({ rootFolder: kubeletRoot, files, mounts, foreignFiles });
    const steps: unknown[] = [];
    for (const { op } of input.steps) {
      const report =
        op === "setUp"
          ? setUpReport(world, await plugin.setUp(world.podVolume({}), never))
          : errorReport(await plugin.tearDown(world.target, never));
      steps.push({ ...world.takeStep(), ...report });
    }
    return { steps };
  },
  withoutFailedVolumes,
);
