import {
  appliesFsGroup,
  driverTokenRequests,
  fsGroupPolicy,
  lifecycleModeProblem,
  mountsSeLinuxContext,
  podInfoContext,
  tokenContext,
} from "../../../core/storage/csi/csi-driver-rules.ts";
import {
  csiEphemeralHandle,
  csiMountPath,
  csiStagingPath,
} from "../../../core/storage/csi/csi-paths.ts";
import { mountFlags, volumeCapability } from "../../../core/storage/csi/csi-requests.ts";
import {
  csiText,
  isCsiReadOnly,
  isMigrated,
  lifecycleMode,
} from "../../../core/storage/csi/csi-source.ts";
import {
  csiDriverName,
  ephemeralCsiSource,
  persistentCsiSource,
} from "../../../core/storage/csi/csi-volume.ts";
import {
  isOperationFinished,
  type StorageError,
  unlessAsked,
} from "../../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { errorText } from "../../../lib/error-text.ts";
import { findMountOf } from "../../../lib/mount-info.ts";
import { splitPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { NodeServiceCapability_RPC_Type as Capability } from "../../../model/generated/csi.ts";
import type { CSIDriver, SecretReference } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { ServiceAccountToken } from "../../../model/service-account-token.ts";
import type {
  PodVolumeRequest,
  PodVolumeTarget,
  StorageResult,
  StoredVolume,
} from "../storage-plugin.ts";
import { setVolumeOwnership } from "../volume-ownership.ts";
import { type CsiCalls, missingField } from "./csi-calls.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { attachmentName, credentials, publishContext } from "./csi-lookups.ts";
import {
  folderMode,
  loadVolumeData,
  removeAfterFailure,
  removeMountFolder,
  saveVolumeData,
} from "./csi-volume-files.ts";

type Texts = Readonly<Record<string, string>>;

function failed(kind: StorageError["kind"], message: string): Result<never, StorageError> {
  return err({ kind, message });
}

function transient(problem: string, reason: string): Result<never, StorageError> {
  return failed("transient", csiText(`${problem}: ${reason}`));
}

/** A volume as its driver knows it. */
export function volumeHandleOf(
  { names: { sha256 } }: Pick<CsiPluginDeps, "names">,
  spec: VolumeSpec,
  podUid: PodUid,
): string {
  if (spec.source === "inline") return csiEphemeralHandle(podUid, volumeSpecName(spec), sha256);
  return persistentCsiSource(spec)?.volumeHandle ?? "";
}

/** What is known of a volume before its driver is asked to publish it. */
interface Publishing {
  readonly request: PodVolumeRequest;
  readonly driverName: string;
  readonly driver: CSIDriver | undefined;
  readonly calls: CsiCalls;
  readonly path: string;
  readonly fsType: string;
  /** How the agent itself would apply the pod's fsGroup. */
  readonly fsGroupPolicy: string;
  readonly seLinuxLabel: string | undefined;
}

/** What the driver is given beside that. */
interface PublishFacts {
  readonly stagingTargetPath: string;
  readonly publishContext: Texts;
  readonly volumeContext: Texts;
  readonly secrets: Texts;
  /** The driver applies the fsGroup. */
  readonly delegatesFsGroup: boolean;
}

export async function setUpCsi(
  deps: CsiPluginDeps,
  request: PodVolumeRequest,
  signal: AbortSignal,
): StorageResult<StoredVolume> {
  return unlessAsked(await trySetUp(deps, request, signal), request);
}

async function trySetUp(
  deps: CsiPluginDeps,
  request: PodVolumeRequest,
  signal: AbortSignal,
): StorageResult<StoredVolume> {
  const publishing = preparePublishing(deps, request);
  if (!publishing.ok) return publishing;
  const facts = await publishFacts(deps, publishing.value, signal);
  if (!facts.ok) return facts;
  const { path } = publishing.value;
  const published = unlessAsked(
    await publish(deps, publishing.value, facts.value, signal),
    request,
  );
  if (!published.ok) {
    // What a pod sees stays while it may be published again: removing the folder would leave the pod with an old mount.
    const isNew = !request.reconstructed && !request.isRemount;
    if (isNew && isOperationFinished(published.error)) await removeAfterFailure(deps, path);
    return published;
  }
  const seLinuxRelabel = await needsRelabel(deps, publishing.value);
  if (!seLinuxRelabel.ok) return seLinuxRelabel;
  if (!facts.value.delegatesFsGroup) {
    const applied = await applyFsGroup(deps, publishing.value, signal);
    if (!applied.ok) return applied;
  }
  const readOnly = isCsiReadOnly(request.spec);
  return ok({ path, readOnly, managed: !readOnly, seLinuxRelabel: seLinuxRelabel.value });
}

function preparePublishing(
  { names, clients, objects }: CsiPluginDeps,
  request: PodVolumeRequest,
): Result<Publishing, StorageError> {
  const { spec, pod, seLinuxLabel } = request;
  const driverName = csiDriverName(spec);
  if (driverName === undefined) return failed("final", "volume source not found in volume.Spec");
  const client = clients.open(driverName, isMigrated(spec));
  if (!client.ok) return transient("mounter.SetUpAt failed to get CSI client", client.error);
  const driver = objects.csiDriver(driverName);
  const modeProblem = driver.ok
    ? lifecycleModeProblem(driver.value, driverName, lifecycleMode(spec))
    : driver.error;
  if (!driver.ok || modeProblem !== undefined) {
    return transient("mounter.SetupAt failed to check volume lifecycle mode", modeProblem ?? "");
  }
  const policy = fsGroupPolicy(driver.value);
  if (!policy.ok) return transient("mounter.SetupAt failed to check fsGroup policy", policy.error);
  return ok({
    request,
    driverName,
    driver: driver.value,
    calls: client.value,
    path: csiMountPath(names.rootFolder, pod.metadata.uid, volumeSpecName(spec)),
    fsType: (ephemeralCsiSource(spec) ?? persistentCsiSource(spec))?.fsType ?? "",
    fsGroupPolicy: policy.value,
    seLinuxLabel:
      mountsSeLinuxContext(driver.value) && seLinuxLabel !== "" ? seLinuxLabel : undefined,
  });
}

async function publishFacts(
  deps: CsiPluginDeps,
  publishing: Publishing,
  signal: AbortSignal,
): Promise<Result<PublishFacts, StorageError>> {
  const { request, driver, calls, path } = publishing;
  const { spec, pod } = request;
  const staged = await stagedFacts(deps, publishing, signal);
  if (!staged.ok) return staged;
  const folder = splitPath(path).folder;
  try {
    await deps.files.ensureFolder(folder, folderMode);
  } catch (error) {
    const problem = `mounter.SetUpAt failed to create dir "${folder}"`;
    return failed("final", csiText(`${problem}:  ${errorText(error)}`));
  }
  const reference = publishSecret(spec, pod);
  const secrets = await credentials(deps, reference, signal);
  if (!secrets.ok) {
    const { namespace = "", name = "" } = reference ?? {};
    const problem = `fetching NodePublishSecretRef ${namespace}/${name} failed`;
    return failed("transient", `${problem}: ${secrets.error}`);
  }
  const tokens = await requestTokens(deps, driver, pod, signal);
  if (!tokens.ok) {
    // The word is misspelled upstream too.
    return transient(
      "mounter.SetUpAt failed to get service accoount token attributes",
      tokens.error,
    );
  }
  const groups = await calls.supports(Capability.VOLUME_MOUNT_GROUP, signal);
  if (!groups.ok) {
    const problem =
      "mounter.SetUpAt failed to determine if the node service has VOLUME_MOUNT_GROUP capability";
    return transient(problem, groups.error.message);
  }
  const inSecrets = driver?.spec.serviceAccountTokenInSecrets === true;
  const attributes = (ephemeralCsiSource(spec) ?? persistentCsiSource(spec))?.volumeAttributes;
  return ok({
    ...staged.value,
    volumeContext: {
      ...attributes,
      ...podInfoContext(driver, pod, lifecycleMode(spec)),
      ...(inSecrets ? {} : tokens.value),
    },
    secrets: { ...secrets.value, ...(inSecrets ? tokens.value : {}) },
    delegatesFsGroup: groups.value,
  });
}

/** What staging and attaching left: a volume of the pod itself has neither. */
async function stagedFacts(
  deps: CsiPluginDeps,
  { request: { spec }, calls }: Publishing,
  signal: AbortSignal,
): Promise<Result<Pick<PublishFacts, "stagingTargetPath" | "publishContext">, StorageError>> {
  const source = persistentCsiSource(spec);
  if (source === undefined) return ok({ stagingTargetPath: "", publishContext: {} });
  const stages = await calls.supports(Capability.STAGE_UNSTAGE_VOLUME, signal);
  if (!stages.ok) {
    const problem = "mounter.SetUpAt failed to check for STAGE_UNSTAGE_VOLUME capability";
    return failed("final", csiText(`${problem}: ${stages.error.message}`));
  }
  const path = stages.value
    ? csiStagingPath(deps.names.rootFolder, spec, deps.names.sha256)
    : ok("");
  if (!path.ok) {
    const problem = "mounter.SetUpAt failed to make device mount path";
    return failed("final", csiText(`${problem}: ${path.error}`));
  }
  const context = await publishContext(deps, source, signal);
  if (!context.ok)
    return transient("mounter.SetUpAt failed to fetch publishContext", context.error);
  return ok({ stagingTargetPath: path.value, publishContext: context.value });
}

/** A volume of the pod itself can only name secrets of its namespace. */
function publishSecret(spec: VolumeSpec, pod: Pod): SecretReference | undefined {
  const source = ephemeralCsiSource(spec);
  if (source === undefined) return persistentCsiSource(spec)?.nodePublishSecretRef;
  const reference = source.nodePublishSecretRef;
  if (reference === undefined) return undefined;
  return { name: reference.name, namespace: pod.metadata.namespace };
}

async function requestTokens(
  { tokens }: CsiPluginDeps,
  driver: CSIDriver | undefined,
  pod: Pod,
  signal: AbortSignal,
): Promise<Result<Texts, string>> {
  const issued = new Map<string, ServiceAccountToken>();
  for (const { audience, request } of driverTokenRequests(driver, pod)) {
    if (tokens === undefined) return err("ServiceAccountTokenGetter is nil");
    const token = await tokens.request(request, signal);
    if (!token.ok) return token;
    issued.set(audience, token.value);
  }
  return ok(tokenContext(issued));
}

async function publish(
  deps: CsiPluginDeps,
  { request, driverName, calls, path, fsType, seLinuxLabel }: Publishing,
  facts: PublishFacts,
  signal: AbortSignal,
): StorageResult<void> {
  const { spec, pod, fsGroup } = request;
  const volumeHandle = volumeHandleOf(deps, spec, pod.metadata.uid);
  const unsaved = await saveVolumeData(deps, splitPath(path).folder, {
    specVolID: volumeSpecName(spec),
    volumeHandle,
    driverName,
    nodeName: deps.names.nodeName,
    volumeLifecycleMode: lifecycleMode(spec),
    attachmentID: attachmentName(deps, { driver: driverName, volumeHandle }),
    seLinuxMountContext: seLinuxLabel,
  });
  if (unsaved !== undefined) return failed("final", unsaved);
  const multiWriter = missingField(volumeHandle) ?? (await calls.supportsMultiWriter(signal));
  if (!multiWriter.ok) return multiWriter;
  return calls.publish(
    {
      volumeId: volumeHandle,
      targetPath: path,
      stagingTargetPath: facts.stagingTargetPath,
      readonly: isCsiReadOnly(spec),
      publishContext: facts.publishContext,
      volumeContext: facts.volumeContext,
      secrets: facts.secrets,
      volumeCapability: volumeCapability({
        spec,
        fsType,
        mountFlags: mountFlags(spec, seLinuxLabel),
        fsGroup: facts.delegatesFsGroup ? fsGroup : undefined,
        singleNodeMultiWriter: multiWriter.value,
      }),
    },
    signal,
  );
}

/** Whether the runtime has to label the files: the file system has labels, and was not mounted with one. */
async function needsRelabel(
  { mounts }: CsiPluginDeps,
  { path, seLinuxLabel }: Publishing,
): Promise<Result<boolean, StorageError>> {
  if (seLinuxLabel !== undefined) return ok(false);
  try {
    const mount = findMountOf(await mounts.list(), path);
    const options = `${mount?.options ?? ""},${mount?.superOptions ?? ""}`.split(",");
    return ok(options.includes("seclabel"));
  } catch (error) {
    return failed("uncertain", `error checking for SELinux support: ${errorText(error)}`);
  }
}

/** The volume is mounted by now: one whose files the pod cannot use is to be unmounted again. */
async function applyFsGroup(
  deps: CsiPluginDeps,
  { request, path, fsType, fsGroupPolicy: policy }: Publishing,
  signal: AbortSignal,
): StorageResult<void> {
  const { spec, pod, fsGroup, fsGroupChangePolicy } = request;
  const readOnly = isCsiReadOnly(spec);
  if (!appliesFsGroup(policy, { spec, fsType, readOnly })) return ok(undefined);
  const owned = { pod, path, fsGroup, fsGroupChangePolicy, readOnly };
  const applied = await setVolumeOwnership(deps, owned, signal);
  if (applied.ok) return applied;
  const handle = volumeHandleOf(deps, spec, pod.metadata.uid);
  return failed("uncertain", `applyFSGroup failed for vol ${handle}: ${applied.error}`);
}

export async function tearDownCsi(
  deps: CsiPluginDeps,
  { podUid, volumeSpecName: name }: PodVolumeTarget,
  signal: AbortSignal,
): StorageResult<void> {
  const path = csiMountPath(deps.names.rootFolder, podUid, name);
  const data = await loadVolumeData(deps, splitPath(path).folder);
  if (!data.ok) {
    const problem = `unmounter failed to load volume data file [${path}]`;
    return failed("final", csiText(`${problem}: ${data.error.message}`));
  }
  const { driverName = "", volumeHandle = "" } = data.value;
  const client = deps.clients.open(driverName, false);
  if (!client.ok) return transient("Unmounter.TearDownAt failed to get CSI client", client.error);
  const done = await client.value.unpublish(volumeHandle, path, signal);
  if (!done.ok) {
    return failed("final", csiText(`Unmounter.TearDownAt failed: ${done.error.message}`));
  }
  const removed = await removeMountFolder(deps, path);
  if (removed.ok) return ok(undefined);
  const problem = `Unmounter.TearDownAt failed to clean mount dir [${path}]`;
  return failed("final", csiText(`${problem}: ${removed.error}`));
}
