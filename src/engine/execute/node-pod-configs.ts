import { containerConfig } from "../../core/cri/container-config.ts";
import { withDottedSysctls } from "../../core/cri/dotted-sysctls.ts";
import { type ImageUser, imageUser } from "../../core/cri/image-user.ts";
import {
  containerResources,
  overheadResources,
  resizedSandboxResources,
} from "../../core/cri/linux-resources.ts";
import { withPluginDevices } from "../../core/cri/plugin-devices.ts";
import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import { sandboxConfig } from "../../core/cri/sandbox-config.ts";
import { containerEnv, type EnvSources } from "../../core/env/container-env.ts";
import { containerDevices } from "../../core/mount/container-devices.ts";
import {
  type ContainerMount,
  containerMounts,
  type MountedVolume,
} from "../../core/mount/container-mounts.ts";
import {
  supportsRecursiveReadOnly,
  wantsRecursiveReadOnly,
} from "../../core/mount/recursive-read-only.ts";
import { podDnsConfig } from "../../core/network/dns-config.ts";
import { hostNetworkHostsFile, managedHostsFile } from "../../core/network/hosts-file.ts";
import { bandwidthProblem, networkNeeds, unmetNeed } from "../../core/network/network-needs.ts";
import { kernelHostname, podHostname } from "../../core/network/pod-hostname.ts";
import { podContainerDirectory, podHostsFile } from "../../core/paths/data-paths.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import {
  type ContainerConfig,
  type ImageSpec,
  type LinuxContainerResources,
  type PodSandboxConfig,
  SecurityProfile_ProfileType,
  type UserNamespace,
} from "../../model/generated/cri.ts";
import type { AnyContainer, PlacedContainer, Pod } from "../../model/pod.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { UserNamespaces } from "../resources/user-namespaces.ts";
import type { ContainerVolumes } from "../volumes/container-volumes.ts";
import type { RuntimeFacts } from "./runtime-facts.ts";
import { runtimeHandlerOf } from "./runtime-handler.ts";
import type { StepFailure } from "./step-report.ts";

const nodeHostsFile = "/etc/hosts";

export interface NodePodConfigsDeps {
  readonly ports: Pick<AgentPorts, "runtime" | "files" | "readNodeDns" | "uniqueName">;
  readonly settings: {
    readonly rootFolder: string;
    readonly clusterDomain: string;
    readonly runtimeSettings: RuntimeSettings;
  };
  readonly runtimeFacts: RuntimeFacts;
  readonly node: KnownNode;
  readonly events: PodEvents;
  readonly cgroups: Pick<NodePodCgroups, "path">;
  readonly volumes: Pick<
    ContainerVolumes,
    "mountedVolumes" | "envFiles" | "bindSubPath" | "extraGroups"
  >;
  readonly objects: ObjectStore & RuntimeClassStore & ServiceStore;
  readonly userNamespaces: Pick<UserNamespaces, "of">;
  readonly managers: Pick<
    NodeManagers,
    "place" | "deviceOptions" | "isFreeOfQuota" | "podIsFreeOfQuota"
  >;
}

export interface ContainerConfigRequest {
  readonly pod: Pod;
  readonly placed: PlacedContainer;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  readonly imageRef: string;
  /** Whom the image runs as, where that is known already. */
  readonly imageUser?: ImageUser | undefined;
  /** The images that the container mounts, by volume name. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec> | undefined;
  /** The container whose process namespace an ephemeral container joins; the runtime's id. */
  readonly targetContainerId?: string | undefined;
}

export type PodConfigs = Pick<
  NodePodConfigs,
  "sandboxConfig" | "containerConfig" | "runtimeHandler" | "containerResources" | "sandboxResources"
>;

/** Assembles the runtime's configs from the pod and from this node. */
export class NodePodConfigs {
  readonly #deps: NodePodConfigsDeps;

  constructor(deps: NodePodConfigsDeps) {
    this.#deps = deps;
  }

  async sandboxConfig(pod: Pod, attempt: number): Promise<Result<PodSandboxConfig, string>> {
    const { ports, events, settings } = this.#deps;
    const { clusterDomain, runtimeSettings } = settings;
    const dns = podDnsConfig(pod, await ports.readNodeDns());
    if (!dns.ok) return dns;
    for (const { about, reason, message } of dns.value.events) {
      // Without a cluster its DNS is not missing, though every pod's default policy asks for it.
      const isMoot = reason === "MissingClusterDNS" && clusterDomain === "";
      if (about === "pod" && !isMoot) events.record(pod, { type: "Warning", reason, message });
    }
    const bandwidth = bandwidthProblem(pod);
    if (bandwidth !== undefined) return err(bandwidth);
    await this.#warnOfUnmetNeed(pod);
    const names = podHostname(pod, clusterDomain);
    if (!names.ok) return names;
    const hostname = kernelHostname(names.value, pod.spec.setHostnameAsFQDN === true);
    if (!hostname.ok) return hostname;
    const userNamespace = await this.#userNamespace(pod);
    if (!userNamespace.ok) return userNamespace;
    return sandboxConfig(
      {
        pod: withDottedSysctls(pod),
        attempt,
        dns: dns.value.config,
        hostname: hostname.value,
        cgroupParent: this.#deps.cgroups.path(pod),
        userNamespace: userNamespace.value,
        extraGroups: this.#deps.volumes.extraGroups(pod),
        hasExclusiveCpus: this.#deps.managers.podIsFreeOfQuota(pod),
      },
      runtimeSettings,
    );
  }

  async #userNamespace(pod: Pod): Promise<Result<UserNamespace, string>> {
    const handler = this.runtimeHandler(pod);
    return handler.ok ? this.#deps.userNamespaces.of(pod, handler.value) : handler;
  }

  /** A plugin that lacks the capability does not get the request at all, and the pod runs without what it asked for. */
  async #warnOfUnmetNeed(pod: Pod): Promise<void> {
    const needs = networkNeeds(pod);
    if (needs.length === 0) return;
    const capabilities = await this.#deps.runtimeFacts.readNetworkCapabilities();
    const message = capabilities && unmetNeed(needs, capabilities);
    if (message === undefined) return;
    this.#deps.events.record(pod, { type: "Warning", reason: "NetworkCapabilityMissing", message });
  }

  /** The runtime handler of the pod's RuntimeClass; "" is the runtime's default. */
  runtimeHandler(pod: Pod): Result<string, string> {
    return runtimeHandlerOf(pod, this.#deps.objects);
  }

  /** What a container may use, as its config says it. */
  containerResources(pod: Pod, container: AnyContainer): LinuxContainerResources {
    const { managers, settings } = this.#deps;
    const isFree = managers.isFreeOfQuota(pod, container);
    return containerResources(pod, container, isFree, settings.runtimeSettings);
  }

  /** What the pod's containers may use together when its cgroup is set to this, and what the sandbox itself uses. */
  sandboxResources(
    pod: Pod,
    cgroup: CgroupResources,
  ): { readonly overhead: LinuxContainerResources; readonly resources: LinuxContainerResources } {
    return {
      overhead: overheadResources(pod, this.#deps.settings.runtimeSettings),
      resources: resizedSandboxResources(pod, cgroup),
    };
  }

  async containerConfig(
    request: ContainerConfigRequest,
    signal: AbortSignal,
  ): Promise<Result<ContainerConfig, StepFailure>> {
    const config = await this.#containerConfig(request, signal);
    if (config.ok) return config;
    return err({ code: "CreateContainerConfigError", message: config.error });
  }

  async #containerConfig(
    request: ContainerConfigRequest,
    signal: AbortSignal,
  ): Promise<Result<ContainerConfig, string>> {
    const { runtimeSettings } = this.#deps.settings;
    const { pod, placed, imageRef } = request;
    const { container } = placed;
    const own = await this.#deps.managers.deviceOptions(pod, container);
    if (!own.ok) return own;
    const environment = containerEnv(pod, container, await this.#envSources(request));
    if (!environment.ok) return environment;
    const [mounts, userNamespace, user] = await Promise.all([
      this.#mounts(request, environment.value),
      this.#userNamespace(pod),
      this.#imageUser(request, signal),
    ]);
    if (!mounts.ok) return mounts;
    if (!userNamespace.ok) return userNamespace;
    if (!user.ok) return user;
    const { volumes } = this.#deps;
    const devices = containerDevices(container, volumes.mountedVolumes(pod.metadata.uid));
    if (!devices.ok) return devices;
    const config = containerConfig(
      withPluginDevices(own.value, {
        pod,
        container,
        restartCount: request.restartCount,
        imageRef,
        imageUser: user.value,
        environment: environment.value,
        mounts: mounts.value,
        terminationLogPath: await this.#terminationLog(request),
        devices: devices.value,
        userNamespace: userNamespace.value,
        extraGroups: volumes.extraGroups(pod),
        place: this.#deps.managers.place(pod, container),
        targetContainerId: request.targetContainerId,
      }),
      runtimeSettings,
    );
    if (!config.ok) return config;
    const { seccompProfileRoot } = runtimeSettings;
    return withSeccompFile(config.value, seccompProfileRoot, this.#deps.ports.files);
  }

  async #envSources({ pod, placed, podIps }: ContainerConfigRequest): Promise<EnvSources> {
    const { objects, node, volumes } = this.#deps;
    return {
      services: objects.services,
      configMap: (namespace, name) => objects.configMap(namespace, name),
      secret: (namespace, name) => objects.secret(namespace, name),
      hostIps: node.hostIps,
      allocatable: node.allocatable,
      envFile: await volumes.envFiles(pod, placed.container),
      podIps,
    };
  }

  async #mounts(
    { pod, placed, podIps, imageVolumes }: ContainerConfigRequest,
    environment: ReadonlyMap<string, string>,
  ): Promise<Result<readonly ContainerMount[], string>> {
    const { volumes, settings } = this.#deps;
    const { container } = placed;
    const isRecursive = await this.#supportsRecursiveReadOnly(pod, container);
    if (!isRecursive.ok) return isRecursive;
    const planned = containerMounts({
      pod,
      container,
      podIps,
      volumes: withImages(volumes.mountedVolumes(pod.metadata.uid), imageVolumes),
      environment,
      supportsRecursiveReadOnly: isRecursive.value,
      dataRoot: settings.rootFolder,
    });
    if (!planned.ok) return planned;
    await this.#writeHostsFile(pod, podIps);
    const mounts: ContainerMount[] = [];
    for (const mount of planned.value) {
      if (mount.subPath === undefined) {
        mounts.push(mount);
        continue;
      }
      const bound = await volumes.bindSubPath(pod, container.name, mount);
      if (!bound.ok) return bound;
      mounts.push({ ...mount, hostPath: bound.value });
    }
    return ok(mounts);
  }

  async #supportsRecursiveReadOnly(
    pod: Pod,
    container: AnyContainer,
  ): Promise<Result<boolean, string>> {
    if (!wantsRecursiveReadOnly(container)) return ok(false);
    const handler = this.runtimeHandler(pod);
    if (!handler.ok) return handler;
    return ok(
      supportsRecursiveReadOnly(handler.value, await this.#deps.runtimeFacts.readHandlers()),
    );
  }

  // Running containers have the file mounted: it stays the same file, whose size is the pod's (CVE-2020-8557), and is left alone as
  // long as it says the right thing.
  async #writeHostsFile(pod: Pod, podIps: readonly string[]): Promise<void> {
    const { files } = this.#deps.ports;
    const { rootFolder, clusterDomain } = this.#deps.settings;
    const aliases = pod.spec.hostAliases ?? [];
    const names = podHostname(pod, clusterDomain);
    if (!names.ok) return;
    const content =
      pod.spec.hostNetwork === true
        ? hostNetworkHostsFile((await files.readText(nodeHostsFile)) ?? "", aliases)
        : managedHostsFile({ podIps, ...names.value }, aliases);
    const path = podHostsFile(rootFolder, pod.metadata.uid);
    if (!(await this.#hasContent(path, content))) await files.overwrite(path, content, 0o644);
  }

  // Containers may have made the file as large as they like: no more of it is read than it takes to compare.
  async #hasContent(path: string, content: string): Promise<boolean> {
    const wanted = new TextEncoder().encode(content);
    const found = await this.#deps.ports.files.readTail(path, wanted.length + 1);
    return found !== undefined && new TextDecoder().decode(found) === content;
  }

  async #terminationLog({ pod, placed }: ContainerConfigRequest): Promise<string | undefined> {
    const { files, uniqueName } = this.#deps.ports;
    const { rootFolder } = this.#deps.settings;
    if ((placed.container.terminationMessagePath ?? "") === "") return undefined;
    const folder = podContainerDirectory(rootFolder, pod.metadata.uid, placed.container.name);
    await files.ensureFolder(folder, 0o750);
    const path = `${folder}/${uniqueName()}`;
    // Any user that the container may run as writes its last words here.
    await files.writeBriefly(path, "", 0o666);
    return path;
  }

  async #imageUser(
    { imageRef, imageUser: known }: ContainerConfigRequest,
    signal: AbortSignal,
  ): Promise<Result<ImageUser, string>> {
    if (known !== undefined) return ok(known);
    try {
      const { runtime } = this.#deps.ports;
      const { image } = await runtime.imageStatus({ image: imageRef }, false, signal);
      // Its user would be a guess, and the image may be back when the container is created.
      if (image === undefined) return err(`image ${imageRef} is gone: its user is not known`);
      return ok(imageUser(image));
    } catch (error) {
      return err(runtimeErrorText(error));
    }
  }
}

/** Volumes that are images have their content by the runtime, once the image is there. */
function withImages(
  mounted: ReadonlyMap<string, MountedVolume>,
  images: ContainerConfigRequest["imageVolumes"] = new Map(),
): ReadonlyMap<string, MountedVolume> {
  if (images.size === 0) return mounted;
  return new Map(
    [...mounted].map(([name, volume]) => [name, { ...volume, image: images.get(name) }]),
  );
}

/** The config with the file of its own seccomp profile where its links lead; an error when that is not below `root`. */
export async function withSeccompFile(
  config: ContainerConfig,
  root: string,
  files: Pick<HostFiles, "realPath">,
): Promise<Result<ContainerConfig, string>> {
  const { linux } = config;
  const profile = linux?.securityContext?.seccomp;
  if (profile?.profileType !== SecurityProfile_ProfileType.Localhost) return ok(config);
  const wanted = profile.localhostRef ?? "";
  // One that is not there yet is left to the runtime, which says so.
  const found = (await files.realPath(wanted)) ?? wanted;
  const realRoot = (await files.realPath(root)) ?? root;
  const isInside = [root, realRoot].some((folder) => found.startsWith(`${folder}/`));
  if (!isInside) return err(`seccomp profile ${quoteText(wanted)} leads out of ${root}`);
  const seccomp = { ...profile, localhostRef: found };
  const securityContext = { ...linux?.securityContext, seccomp };
  return ok({ ...config, linux: { ...linux, securityContext } });
}
