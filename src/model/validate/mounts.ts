import type {
  Container,
  EphemeralContainer,
  Volume,
  VolumeMount,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { hasBackstep, validateDescendingPath } from "./paths.ts";

/** The volumes of a pod that are themselves valid, by name. */
export type ValidVolumes = ReadonlyMap<string, Volume>;

type AnyContainer = Container | EphemeralContainer;

const propagationModes = ["Bidirectional", "HostToContainer", "None"];
const recursiveReadOnlyModes = ["Disabled", "Enabled", "IfPossible"];

/** Checks volume mounts and block devices of one container. */
export function validateMounts(
  container: AnyContainer,
  volumes: ValidVolumes,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateVolumeMounts(container, volumes, `${field}.volumeMounts`),
    ...validateDevices(container, volumes, `${field}.volumeDevices`),
  ];
}

function validateVolumeMounts(
  container: AnyContainer,
  volumes: ValidVolumes,
  field: FieldPath,
): FieldError[] {
  const devices = new Map(
    (container.volumeDevices ?? []).map(({ name, devicePath }) => [name, devicePath]),
  );
  const devicePaths = new Set(devices.values());
  const seen = new Set<string>();
  return (container.volumeMounts ?? []).flatMap((mount, index) => {
    const at = `${field}[${index}]`;
    const { name, mountPath } = mount;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${at}.name`));
    if (!volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    if (mountPath === "") errors.push(required(`${at}.mountPath`));
    if (seen.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, "must be unique"));
    seen.add(mountPath);
    if (devices.has(name)) {
      errors.push(invalid(`${at}.name`, name, "must not already exist in volumeDevices"));
    }
    if (devicePaths.has(mountPath)) {
      const detail = "must not already exist as a path in volumeDevices";
      errors.push(invalid(`${at}.mountPath`, mountPath, detail));
    }
    return [...errors, ...validateMountOptions(mount, container, { list: field, at })];
  });
}

function validateMountOptions(
  mount: VolumeMount,
  container: AnyContainer,
  { list, at }: { readonly list: FieldPath; readonly at: FieldPath },
): FieldError[] {
  const { subPath, subPathExpr } = mount;
  const errors: FieldError[] = [];
  if (subPath !== undefined) errors.push(...validateDescendingPath(subPath, `${list}.subPath`));
  if (subPathExpr !== undefined) {
    if (subPath !== undefined) {
      const detail = "subPathExpr and subPath are mutually exclusive";
      errors.push(invalid(`${at}.subPathExpr`, subPathExpr, detail));
    }
    errors.push(...validateDescendingPath(subPathExpr, `${list}.subPathExpr`));
  }
  return [
    ...errors,
    ...validatePropagation(mount, container, `${list}.mountPropagation`),
    ...validateRecursiveReadOnly(mount, `${list}.recursiveReadOnly`),
  ];
}

function validatePropagation(
  { mountPropagation: mode }: VolumeMount,
  container: AnyContainer,
  field: FieldPath,
): FieldError[] {
  if (mode === undefined) return [];
  if (!propagationModes.includes(mode)) return [notSupported(field, word(mode), propagationModes)];
  if (mode !== "Bidirectional" || container.securityContext?.privileged === true) return [];
  return [
    forbidden(field, "Bidirectional mount propagation is available only to privileged containers"),
  ];
}

function validateRecursiveReadOnly(mount: VolumeMount, field: FieldPath): FieldError[] {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === "Disabled") return [];
  if (!recursiveReadOnlyModes.includes(mode)) {
    return [notSupported(field, word(mode), recursiveReadOnlyModes)];
  }
  const errors: FieldError[] = [];
  if (mount.readOnly !== true) {
    errors.push(forbidden(field, "may only be specified when readOnly is true"));
  }
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    errors.push(forbidden(field, detail));
  }
  return errors;
}

function validateDevices(
  container: AnyContainer,
  volumes: ValidVolumes,
  field: FieldPath,
): FieldError[] {
  const mounts = new Map(
    (container.volumeMounts ?? []).map(({ name, mountPath }) => [name, mountPath]),
  );
  const mountPaths = new Set(mounts.values());
  const seenNames = new Set<string>();
  const seenPaths = new Set<string>();
  return (container.volumeDevices ?? []).flatMap(({ name, devicePath }, index) => {
    const at = `${field}[${index}]`;
    const errors = validateDeviceName(name, volumes, `${at}.name`);
    if (seenNames.has(name)) {
      errors.splice(name === "" ? 1 : 0, 0, invalid(`${at}.name`, name, "must be unique"));
    }
    if (devicePath === "") errors.push(required(`${at}.devicePath`));
    if (seenPaths.has(devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, "must be unique"));
    }
    if (hasBackstep(devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    } else {
      seenPaths.add(devicePath);
    }
    if (mounts.has(name)) {
      errors.push(invalid(`${at}.name`, name, "must not already exist in volumeMounts"));
    }
    if (mountPaths.has(devicePath)) {
      const detail = "must not already exist as a path in volumeMounts";
      errors.push(invalid(`${at}.devicePath`, devicePath, detail));
    }
    if (name !== "") seenNames.add(name);
    return errors;
  });
}

function validateDeviceName(name: string, volumes: ValidVolumes, field: FieldPath): FieldError[] {
  const errors = name === "" ? [required(field)] : [];
  const volume = volumes.get(name);
  if (volume === undefined) return [...errors, notFound(field, name)];
  if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) return errors;
  const detail =
    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
  return [...errors, invalid(field, name, detail)];
}
