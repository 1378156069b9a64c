import { join } from "node:path";
import { csiMountPath } from "../../../src/core/storage/csi/csi-paths.ts";
import { isCsiReadOnly } from "../../../src/core/storage/csi/csi-source.ts";
import { volumeSpecName } from "../../../src/core/storage/volume-spec.ts";
import type { DeviceStorage } from "../../../src/engine/volumes/storage-plugin.ts";
import { mustParseQuantity } from "../../../src/model/quantity.ts";
import {
  type CsiInput,
  type CsiStep,
  CsiWorld,
  encodeError,
  ownershipOf,
  withoutSystemTexts,
} from "../csi-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

const never = new AbortController().signal;

export const csiCalls: VectorDomain = vectorDomain<CsiInput>(
  "csi-calls",
  (input) => runSteps(input),
  withoutSystemTexts,
);

async function runSteps(input: CsiInput): Promise<object> {
  const world = await CsiWorld.open(input, "folder");
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

async function runStep(world: CsiWorld, step: CsiStep): Promise<object> {
  const { spec, plugin } = world;
  const device = plugin.device as DeviceStorage;
  switch (step.op) {
    case "canAttach": {
      const attachable = device.isAttachable(spec);
      return {
        canAttach: attachable.ok && attachable.value,
        canDeviceMount: device.isMountable(spec),
        requiresRemount: plugin.requiresRemount(spec),
      };
    }
    case "waitForAttach": {
      const attached = await device.waitForAttach({ spec, pod: world.input.pod }, never);
      if (attached.ok) return { devicePath: attached.value };
      return { devicePath: "", ...encodeError(attached.error) };
    }
    case "mountDevice":
      return mountDevice(world, device, step);
    case "unmountDevice": {
      const path = await device.mountPath(spec, never);
      const done = path.ok ? await device.unmountDevice(path.value, never) : path;
      return done.ok ? {} : encodeError(done.error);
    }
    case "setUp":
      return setUp(world, step);
    case "tearDown":
      return tearDown(world);
    case "expand":
      return expand(world, step);
    case "stats":
      return stats(world);
    default:
      throw new Error(`unknown operation ${step.op}`);
  }
}

async function mountDevice(
  world: CsiWorld,
  device: DeviceStorage,
  { seLinuxLabel }: CsiStep,
): Promise<object> {
  const { spec } = world;
  const { pod } = world.input;
  const path = await device.mountPath(spec, never);
  if (!path.ok) return encodeError(path.error);
  const deviceMountPath = path.value;
  const fsGroup = pod.spec.securityContext?.fsGroup;
  const request = { spec, pod, devicePath: "", deviceMountPath, fsGroup, seLinuxLabel };
  const done = await device.mountDevice(request, never);
  return { deviceMountPath, ...(done.ok ? {} : encodeError(done.error)) };
}

async function setUp(world: CsiWorld, step: CsiStep): Promise<object> {
  const { spec, root, plugin } = world;
  const { pod } = world.input;
  const done = await plugin.setUp(
    {
      spec,
      pod,
      devicePath: "",
      deviceMountPath: "",
      fsGroup: pod.spec.securityContext?.fsGroup,
      fsGroupChangePolicy: pod.spec.securityContext?.fsGroupChangePolicy,
      isRemount: step.isRemount === true,
      reconstructed: step.reconstructedVolume === true,
      seLinuxLabel: step.seLinuxLabel,
    },
    never,
  );
  const path = csiMountPath(root, pod.metadata.uid, volumeSpecName(spec));
  // Upstream's mounter has attributes also when it failed: those of the volume before it was mounted.
  const readOnly = isCsiReadOnly(spec);
  const before = { path, readOnly, managed: !readOnly, seLinuxRelabel: false };
  const { path: shown, ...attributes } = done.ok ? done.value : before;
  const target = await ownershipOf(path);
  const targetFile = await ownershipOf(join(path, "data"));
  return {
    path: shown,
    attributes,
    ...(target === undefined ? {} : { target }),
    ...(targetFile === undefined ? {} : { targetFile }),
    ...(done.ok ? {} : encodeError(done.error)),
  };
}

async function tearDown(world: CsiWorld): Promise<object> {
  const { spec, root, plugin } = world;
  const podUid = world.input.pod.metadata.uid;
  const name = volumeSpecName(spec);
  const path = csiMountPath(root, podUid, name);
  const done = await plugin.tearDown({ podUid, volumeSpecName: name }, never);
  if (done.ok) return { path };
  // Without the record there is nothing that has a path.
  const isKnown = !done.error.message.includes("unmounter failed to load volume data file");
  return { ...(isKnown ? { path } : {}), ...encodeError(done.error) };
}

async function expand(world: CsiWorld, step: CsiStep): Promise<object> {
  const done = await world.plugin.expand?.(
    {
      spec: world.spec,
      newSize: mustParseQuantity(step.newSize ?? "0"),
      devicePath: step.devicePath ?? "",
      deviceMountPath: step.deviceMountPath ?? "",
      deviceStagePath: step.deviceStagePath ?? "",
    },
    never,
  );
  if (done === undefined || done.ok) return { expanded: true };
  // The text around an uncertain failure makes upstream see the operation as over.
  const isOver = done.error.kind === "uncertain" ? true : undefined;
  return { expanded: false, ...encodeError(done.error, isOver) };
}

async function stats(world: CsiWorld): Promise<object> {
  const request = { spec: world.spec, podUid: world.input.pod.metadata.uid };
  const done = await world.plugin.stats?.(request, never);
  if (done === undefined || !done.ok) return done === undefined ? {} : encodeError(done.error);
  const { availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed } = done.value;
  return {
    stats: {
      available: Number(availableBytes),
      capacity: Number(capacityBytes),
      used: Number(usedBytes),
      inodesFree: Number(inodesFree),
      inodes: Number(inodes),
      inodesUsed: Number(inodesUsed),
    },
  };
}
