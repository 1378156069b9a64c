import { iscsiKind } from "../../../src/core/storage/kinds/storage-kinds.ts";
import { chapCredentials } from "../../../src/engine/volumes/iscsi/chap-credentials.ts";
import { IscsiPlugin } from "../../../src/engine/volumes/iscsi/iscsi-plugin.ts";
import {
  type DiskVolumeInput,
  diskMapPath,
  diskVolumeDeps,
  runDiskSteps,
  secretReader,
} from "../disk-volumes.ts";
import { StoragePluginWorld, withoutFailedVolumes } from "../storage-plugin-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

const never = new AbortController().signal;

export const volumeIscsi: VectorDomain = vectorDomain<DiskVolumeInput>(
  "volume-iscsi",
  (input) => {
    const world = new StoragePluginWorld(input);
    const secrets = secretReader(input.secrets ?? []);
    const plugin = new IscsiPlugin({ ...diskVolumeDeps(world), secrets });
    return runDiskSteps(world, plugin, input, async () => {
      // Upstream reads the secret for block volumes too, each time.
      const credentials = await chapCredentials(secrets, world.spec, input.pod, never);
      return credentials.ok ? diskMapPath(iscsiKind, world.spec) : credentials;
    });
  },
  withoutFailedVolumes,
);
