import { escapePluginName } from "../../core/paths/data-paths.ts";
import { findKindByName } from "../../core/storage/kinds/find-kind.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import type { VolumeSpec } from "../../core/storage/volume-spec.ts";
import { volumeSpecName } from "../../core/storage/volume-spec.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import { publishPayload } from "./payload-volume.ts";
import type { PodVolumeRequest, StoragePlugin, StoredVolume } from "./storage-plugin.ts";
import { tearDownVolume } from "./tear-down.ts";
import type { VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";

/** A kind of volume that has no storage but a folder of its pod, or a path of the node. */
export function folderPlugin(deps: VolumePluginDeps, plugin: VolumePlugin): StoragePlugin {
  const { name } = plugin;
  return {
    name,
    requiresRemount: () => plugin.payload !== undefined,
    setUp: (request, signal) => asStorage(() => setUpFolder(deps, plugin, request, signal), signal),
    tearDown: ({ podUid, volumeSpecName: volume }, signal) =>
      asStorage(async () => {
        const found = { pluginFolder: escapePluginName(name), name: volume };
        return ok(await tearDownVolume(deps, podUid, found, signal));
      }, signal),
    reconstruct: async ({ volumeSpecName: volume }) => {
      const kind = findKindByName(name, []);
      if (!kind.ok) return kind;
      const spec = kind.value.foundByName?.(volume);
      return spec === undefined ? failed(`${name} leaves nothing on disk`) : ok({ spec });
    },
  };
}

async function setUpFolder(
  deps: VolumePluginDeps,
  plugin: VolumePlugin,
  { spec, pod }: PodVolumeRequest,
  signal: AbortSignal,
): Promise<Result<StoredVolume, string>> {
  const target = { pod, volume: volumeOf(spec) };
  const refusal = plugin.refusal?.(target.volume, deps);
  if (refusal !== undefined) return err(`${plugin.field}.${refusal}`);
  const payload = await plugin.payload?.(deps, target, signal);
  if (payload?.ok === false) return payload;
  const done = await plugin.setUp(deps, target, signal);
  if (!done.ok) return done;
  const { path, readOnly, managed, selinuxRelabel: seLinuxRelabel } = done.value;
  if (payload !== undefined) {
    const published = await publishPayload(deps, target, path, payload.value);
    if (!published.ok) return published;
  }
  return ok({ path, readOnly, managed, seLinuxRelabel });
}

/** A persistent volume can be a path of the node too. */
function volumeOf(spec: VolumeSpec): Volume {
  if (spec.source === "inline") return spec.volume;
  return { name: volumeSpecName(spec), hostPath: spec.persistentVolume.spec?.hostPath };
}

async function asStorage<T>(
  work: () => Promise<Result<T, string>>,
  signal: AbortSignal,
): Promise<Result<T, StorageError>> {
  try {
    const done = await work();
    return done.ok ? done : failed(done.error);
  } catch (error) {
    signal.throwIfAborted();
    return failed(errorText(error));
  }
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
