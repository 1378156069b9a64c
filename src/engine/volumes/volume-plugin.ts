import type { MountedVolume } from "../../core/mount/container-mounts.ts";
import type { Result } from "../../lib/result.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { Payload } from "../../model/volume-payload.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { PayloadFiles } from "../../ports/payload-files.ts";
import type { PodCertificates } from "../../ports/pod-certificates.ts";
import type { ServiceAccountTokens } from "../../ports/service-account-tokens.ts";
import type { TrustBundles } from "../../ports/trust-bundles.ts";

/** What setting up volumes needs of the world. */
export interface VolumePluginDeps {
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly files: HostFiles;
  readonly payloadFiles: PayloadFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly objects: ObjectStore;
  /** Undefined without a cluster. */
  readonly tokens: ServiceAccountTokens | undefined;
  /** Undefined without a cluster, and without the feature gate ClusterTrustBundleProjection. */
  readonly trustBundles: TrustBundles | undefined;
  /** Undefined without a cluster, and without the feature gate PodCertificateRequest. */
  readonly podCertificates: PodCertificates | undefined;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** One volume of one pod. */
export interface PodVolume {
  readonly pod: Pod;
  readonly volume: Volume;
}

/** A type of volume. Everything but what it is like is the same for all: where it lies, and how it is removed. */
export interface VolumePlugin {
  /** Names its folder below the pod's. */
  readonly name: string;
  /** The field of a volume that asks for it. */
  readonly field: Exclude<keyof Volume, "name">;
  /** Why this node cannot do it, beginning with the field below the volume's; undefined when it can. */
  refusal?(volume: Volume, deps: VolumePluginDeps): string | undefined;
  /** Brings the volume about. Done again after a restart of the agent, it leaves alone what is there. */
  setUp(
    deps: VolumePluginDeps,
    target: PodVolume,
    signal: AbortSignal,
  ): Promise<Result<MountedVolume, string>>;
  /** For a volume whose content follows its sources: what it is to show now. */
  payload?(
    deps: VolumePluginDeps,
    target: PodVolume,
    signal: AbortSignal,
  ): Promise<Result<Payload, string>>;
}
