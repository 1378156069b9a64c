import { utf8Length } from "../../lib/utf8.ts";
import type {
  CSIVolumeSource,
  ISCSIVolumeSource,
  QuobyteVolumeSource,
  Volume,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  required,
  tooLong,
} from "./field-error.ts";
import { dnsSubdomainProblems, rangeProblems } from "./names.ts";
import { validateDescendingPath } from "./paths.ts";
import { requireText } from "./volume-disks.ts";

const maxDriverNameBytes = 63;
/** The protocol's own limit is 223 bytes. */
const maxInitiatorLength = 1024;
const initiatorForms: readonly (readonly [prefix: string, form: RegExp])[] = [
  ["iqn", /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[a-zA-Z0-9]{16}$/],
  ["naa", /^naa.[a-zA-Z0-9]{32}$/],
];

/** Checks the network storage that a volume is, if it is one. */
export function validateNetworkSource(volume: Volume, field: FieldPath): FieldError[] {
  const { gitRepo, nfs, iscsi, quobyte, csi } = volume;
  if (gitRepo !== undefined) {
    return [
      ...requireText(gitRepo.repository, `${field}.gitRepo.repository`),
      ...validateDescendingPath(gitRepo.directory ?? "", `${field}.gitRepo.directory`),
    ];
  }
  if (nfs !== undefined) {
    return [
      ...requireText(nfs.server, `${field}.nfs.server`),
      ...requireText(nfs.path, `${field}.nfs.path`),
      ...(nfs.path.startsWith("/")
        ? []
        : [invalid(`${field}.nfs.path`, nfs.path, "must be an absolute path")]),
    ];
  }
  if (iscsi !== undefined) return validateIscsi(iscsi, `${field}.iscsi`);
  if (quobyte !== undefined) return validateQuobyte(quobyte, `${field}.quobyte`);
  if (csi !== undefined) return validateCsi(csi, `${field}.csi`);
  return validateSimpleSource(volume, field);
}

function validateSimpleSource(volume: Volume, field: FieldPath): FieldError[] {
  const { glusterfs, rbd, cephfs, azureFile } = volume;
  if (glusterfs !== undefined) {
    return [
      ...requireText(glusterfs.endpoints, `${field}.glusterfs.endpoints`),
      ...requireText(glusterfs.path, `${field}.glusterfs.path`),
    ];
  }
  if (rbd !== undefined) {
    return [
      ...(rbd.monitors.length === 0 ? [required(`${field}.rbd.monitors`)] : []),
      ...requireText(rbd.image, `${field}.rbd.image`),
    ];
  }
  if (cephfs !== undefined) {
    return cephfs.monitors.length === 0 ? [required(`${field}.cephfs.monitors`)] : [];
  }
  if (azureFile !== undefined) {
    return [
      ...requireText(azureFile.secretName, `${field}.azureFile.secretName`),
      ...requireText(azureFile.shareName, `${field}.azureFile.shareName`),
    ];
  }
  return [];
}

function validateIscsi(iscsi: ISCSIVolumeSource, field: FieldPath): FieldError[] {
  const { iqn, lun, initiatorName, secretRef } = iscsi;
  const needsSecret = iscsi.chapAuthDiscovery === true || iscsi.chapAuthSession === true;
  return [
    ...requireText(iscsi.targetPortal, `${field}.targetPortal`),
    ...(iqn === "" ? [required(`${field}.iqn`)] : validateInitiator(iqn, `${field}.iqn`)),
    ...invalidForEach(`${field}.lun`, lun, rangeProblems(lun, 0, 255)),
    ...(needsSecret && secretRef === undefined ? [required(`${field}.secretRef`)] : []),
    ...(initiatorName === undefined
      ? []
      : validateInitiator(initiatorName, `${field}.initiatorname`)),
  ];
}

function validateInitiator(name: string, field: FieldPath): FieldError[] {
  const form = initiatorForms.find(([prefix]) => name.startsWith(prefix));
  if (form === undefined) {
    return [invalid(field, name, "must be valid format starting with iqn, eui, or naa")];
  }
  const isValid = name.length <= maxInitiatorLength && form[1].test(name);
  return isValid ? [] : [invalid(field, name, "must be valid format")];
}

function validateQuobyte(source: QuobyteVolumeSource, field: FieldPath): FieldError[] {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  const errors: FieldError[] = [];
  if (source.registry === "") {
    errors.push(required(`${field}.registry`, pairs));
  } else if (utf8Length(source.tenant ?? "") >= 65) {
    const detail = "must be a UUID and may not exceed a length of 64 characters";
    errors.push(required(`${field}.tenant`, detail));
  } else {
    for (const pair of source.registry.split(",")) {
      if (!isHostAndPort(pair)) errors.push(invalid(`${field}.registry`, source.registry, pairs));
    }
  }
  return [...errors, ...requireText(source.volume, `${field}.volume`)];
}

/** One colon between host and port; a host with colons stands in brackets. */
function isHostAndPort(text: string): boolean {
  return /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text);
}

function validateCsi(source: CSIVolumeSource, field: FieldPath): FieldError[] {
  const secret = source.nodePublishSecretRef;
  const errors = validateDriverName(source.driver, `${field}.driver`);
  if (secret === undefined) return errors;
  const { name = "" } = secret;
  if (name === "") return [...errors, required(`${field}.nodePublishSecretRef.name`)];
  return [...errors, ...invalidForEach(`${field}.name`, name, dnsSubdomainProblems(name))];
}

function validateDriverName(name: string, field: FieldPath): FieldError[] {
  if (name === "") return [required(field)];
  return [
    ...(utf8Length(name) > maxDriverNameBytes ? [tooLong(field, maxDriverNameBytes)] : []),
    ...invalidForEach(field, name, dnsSubdomainProblems(name.toLowerCase())),
  ];
}
