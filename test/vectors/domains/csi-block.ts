import { podVolumeDeviceDirectory } from "../../../src/core/paths/data-paths.ts";
import { csiBlockStagingPath, csiGlobalMapPath } from "../../../src/core/storage/csi/csi-paths.ts";
import { requirePersistentSource } from "../../../src/core/storage/csi/csi-source.ts";
import { csiPluginName } from "../../../src/core/storage/csi/csi-volume.ts";
import { volumeSpecName } from "../../../src/core/storage/volume-spec.ts";
import type { BlockStorage } from "../../../src/engine/volumes/storage-plugin.ts";
import { type MapPathsInput, runMapPaths } from "../block-map-paths.ts";
import {
  type CsiInput,
  type CsiStep,
  CsiWorld,
  encodeError,
  withoutSystemTexts,
} from "../csi-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type BlockInput = ({ readonly kind: "calls" } & CsiInput) | MapPathsInput;

const never = new AbortController().signal;

export const csiBlock: VectorDomain = vectorDomain<BlockInput>(
  "csi-block",
  (input) => (input.kind === "calls" ? runCalls(input) : runMapPaths(input)),
  withoutSystemTexts,
);

async function runCalls(input: CsiInput): Promise<object> {
  const world = await CsiWorld.open(input, "device");
  try {
    const steps: unknown[] = [];
    for (const step of input.steps) {
      world.begin(step);
      steps.push(await world.end(await runStep(world, step)));
    }
    return { steps };
  } finally {
    await world.close();
  }
}

async function runStep(world: CsiWorld, { op }: CsiStep): Promise<object> {
  const { spec, root } = world;
  const block = world.plugin.block as BlockStorage;
  const { pod } = world.input;
  const podUid = pod.metadata.uid;
  const name = volumeSpecName(spec);
  switch (op) {
    case "setUpDevice":
    case "mapPodDevice": {
      const done = await block[op]({ spec, pod }, never);
      // Upstream has paths once there is a mapper, which an inline volume has none of.
      const paths = requirePersistentSource(spec).ok
        ? {
            globalMapPath: csiGlobalMapPath(root, name),
            stagingPath: csiBlockStagingPath(root, name),
            podDeviceMapPath: podVolumeDeviceDirectory(root, podUid, csiPluginName),
            podDeviceName: name,
            returnedPath: done.ok ? done.value : "",
          }
        : {};
      return { ...paths, ...(done.ok ? {} : encodeError(done.error)) };
    }
    case "unmapPodDevice":
    case "tearDownDevice": {
      const target = { podUid, volumeSpecName: name, globalMapPath: "", devicePath: "" };
      const done = await block[op](target, never);
      return done.ok ? {} : encodeError(done.error);
    }
    case "reconstruct": {
      const found = await block.reconstruct({ podUid, volumeSpecName: name, path: "" }, never);
      if (!found.ok) return encodeError(found.error);
      const rebuilt = found.value.spec;
      if (rebuilt.source === "inline") return {};
      const { metadata, spec: pvSpec } = rebuilt.persistentVolume;
      const { readOnly } = rebuilt;
      return { persistentVolume: { name: metadata?.name, readOnly, spec: pvSpec } };
    }
    default:
      throw new Error(`unknown operation ${op}`);
  }
}
