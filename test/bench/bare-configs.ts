import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runtimeSettings } from "../../src/app/create-agent.ts";
import { containerConfig } from "../../src/core/cri/container-config.ts";
import { imageUser } from "../../src/core/cri/image-user.ts";
import type { RuntimeSettings } from "../../src/core/cri/runtime-settings.ts";
import { sandboxConfig } from "../../src/core/cri/sandbox-config.ts";
import { containerMounts } from "../../src/core/mount/container-mounts.ts";
import { podDnsConfig } from "../../src/core/network/dns-config.ts";
import { managedHostsFile } from "../../src/core/network/hosts-file.ts";
import { podContainerDirectory, podHostsFile } from "../../src/core/paths/data-paths.ts";
import { podLogsDirectory } from "../../src/core/paths/log-paths.ts";
import { podCgroupName } from "../../src/core/resource/cgroup-name.ts";
import { podCgroupResources } from "../../src/core/resource/cgroup-resources.ts";
import { openCgroups } from "../../src/drivers/linux/open-cgroups.ts";
import { parseJson } from "../../src/lib/json-parser.ts";
import type { Result } from "../../src/lib/result.ts";
import type { ContainerConfig, Image, PodSandboxConfig } from "../../src/model/generated/cri.ts";
import { parseStaticPod } from "../../src/model/manifest/static-pod.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { benchClusterDns, benchClusterDomain, benchNode } from "./bench-settings.ts";

/** Where the bare client's pods lie. */
interface BarePlace {
  readonly folder: string;
  readonly cgroupRoot: string;
}

/** The cgroup below which all of the bare client's pods are. */
export function bareCgroup({ cgroupRoot }: BarePlace): string {
  return `${cgroupRoot}/bare`;
}

/** The pod that agents get as a manifest, with the cgroup and the folders that an agent makes before it calls the runtime. */
export async function prepareBarePod(place: BarePlace, name: string): Promise<Pod> {
  const manifest = take(parseJson(podManifest(name)));
  const pod = take(
    parseStaticPod(manifest, {
      nodeName: benchNode,
      origin: { kind: "file", path: `${dataRoot(place)}/${name}.json` },
      allowedReferences: "configMapsAndSecrets",
    }),
  );
  const policy = { enforceCpuLimits: true, cpuPeriodUs };
  const cgroups = openCgroups(place.cgroupRoot);
  await cgroups.create(cgroupOf(place, pod), podCgroupResources(pod, policy));
  mkdirSync(terminationFolder(place, pod), { recursive: true });
  mkdirSync(podLogsDirectory(logsRoot(place), pod.metadata), { recursive: true });
  return pod;
}

/** As Berth makes it, by the same functions: names, labels, resolver, resources, security. */
export function bareSandboxConfig(place: BarePlace, pod: Pod): PodSandboxConfig {
  const dns = podDnsConfig(pod, {
    clusterDns: [benchClusterDns],
    clusterDomain: benchClusterDomain,
    nodeIps: [],
    resolverConfig: readFileSync("/etc/resolv.conf", "utf8"),
  });
  const inputs = {
    pod,
    attempt: 0,
    dns: take(dns).config,
    hostname: pod.metadata.name,
    cgroupParent: cgroupOf(place, pod),
  };
  return take(sandboxConfig(inputs, settings(place)));
}

/** As Berth makes it; writes the files that the container gets to see. */
export function bareContainerConfig(
  place: BarePlace,
  pod: Pod,
  image: Image,
  { podIp, restartCount }: { readonly podIp: string; readonly restartCount: number },
): ContainerConfig {
  const { uid, name } = pod.metadata;
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`pod ${name} has no container`);
  const environment = new Map<string, string>();
  const mounts = containerMounts({
    pod,
    container,
    podIps: [podIp],
    volumes: new Map(),
    environment,
    supportsRecursiveReadOnly: false,
    dataRoot: dataRoot(place),
  });
  const hosts = managedHostsFile({ podIps: [podIp], hostname: name, domain: "" }, []);
  writeFileSync(podHostsFile(dataRoot(place), uid), hosts);
  const terminationLogPath = `${terminationFolder(place, pod)}/${restartCount}`;
  writeFileSync(terminationLogPath, "", { mode: 0o666 });
  const inputs = {
    pod,
    container,
    restartCount,
    imageRef: image.id ?? "",
    imageUser: imageUser(image),
    environment,
    mounts: take(mounts),
    terminationLogPath,
  };
  return take(containerConfig(inputs, settings(place)));
}

const cpuPeriodUs = 100_000;

function settings(place: BarePlace): RuntimeSettings {
  const cgroups = openCgroups(place.cgroupRoot);
  const machine = runtimeSettings(logsRoot(place), dataRoot(place), cgroups);
  return { ...machine, seccompDefault: false };
}

function cgroupOf(place: BarePlace, pod: Pod): string {
  const root = bareCgroup(place)
    .split("/")
    .filter((part) => part !== "");
  return `/${podCgroupName(root, pod).join("/")}`;
}

function dataRoot({ folder }: BarePlace): string {
  return `${folder}/bare`;
}

function logsRoot(place: BarePlace): string {
  return `${dataRoot(place)}/logs`;
}

function terminationFolder(place: BarePlace, { metadata, spec }: Pod): string {
  return podContainerDirectory(dataRoot(place), metadata.uid, spec.containers[0]?.name ?? "");
}

function take<T>(result: Result<T, unknown>): T {
  if (result.ok) return result.value;
  throw new Error(`the bare client's pod is refused: ${JSON.stringify(result.error)}`);
}
