import type { EnvSources } from "../../core/env/container-env.ts";
import type { ContainerMount, MountedVolume } from "../../core/mount/container-mounts.ts";
import { podSubPathsDirectory } from "../../core/paths/data-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import type { PodUid } from "../../model/ids.ts";
import { type AnyContainer, type Pod, podKey } from "../../model/pod.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { Log } from "../../ports/log.ts";
import type { StorageManager } from "./storage-manager.ts";

export interface ContainerVolumesDeps {
  readonly storage: Pick<StorageManager, "mountedVolumes" | "specNameOf" | "supplementalGroups">;
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly foreignFiles: Pick<ForeignFiles, "bindSubPath" | "readFile">;
  readonly log: Log;
  /** Ends with the agent. */
  readonly lifetime: AbortSignal;
}

const maxEnvFileBytes = 1024 * 1024;
/** Of all files that one container names together; further ones count as unreadable. */
const maxEnvFilesLength = 8 * maxEnvFileBytes;

/** What containers are given of the volumes that are mounted for their pod. */
export class ContainerVolumes {
  readonly #deps: ContainerVolumesDeps;

  constructor(deps: ContainerVolumesDeps) {
    this.#deps = deps;
  }

  /** What is mounted for a pod, by volume name. */
  mountedVolumes(uid: PodUid): ReadonlyMap<string, MountedVolume> {
    return this.#deps.storage.mountedVolumes(uid);
  }

  /** The groups that the pod's processes get for the sake of its volumes. */
  extraGroups(pod: Pod): readonly number[] {
    return this.#deps.storage.supplementalGroups(pod);
  }

  /** Reads the environment files that a container refers to. */
  async envFiles(pod: Pod, container: AnyContainer): Promise<EnvSources["envFile"]> {
    const mounted = this.mountedVolumes(pod.metadata.uid);
    const files = new Map<string, ReturnType<EnvSources["envFile"]>>();
    let left = maxEnvFilesLength;
    for (const { valueFrom } of container.env ?? []) {
      const { volumeName = "", path = "" } = valueFrom?.fileKeyRef ?? {};
      const volume = mounted.get(volumeName);
      const key = `${volumeName}/${path}`;
      if (volume === undefined || files.has(key)) continue;
      const text = left > 0 ? await this.#readText(volume, path) : undefined;
      left -= text?.length ?? 0;
      files.set(key, { path: joinPath(volume.path, path), text });
    }
    return (volumeName, path) => files.get(`${volumeName}/${path}`);
  }

  /** Binds the part of a volume that the mount asks for; answers where it lies. */
  async bindSubPath(
    pod: Pod,
    container: string,
    mount: ContainerMount,
  ): Promise<Result<string, string>> {
    const { storage, rootFolder, foreignFiles, lifetime, log } = this.#deps;
    const { subPath } = mount;
    if (subPath === undefined) return ok(mount.hostPath ?? "");
    const { uid } = pod.metadata;
    // By this name they are found when the volume is unmounted.
    const specName = storage.specNameOf(uid, mount.name);
    const folder = podSubPathsDirectory(rootFolder, uid);
    const target = `${folder}/${specName}/${container}/${subPath.mountIndex}`;
    const failure = await foreignFiles.bindSubPath(
      { volumePath: subPath.volumePath, subPath: subPath.path, target },
      lifetime,
    );
    if (failure === undefined) return ok(target);
    // The details could disclose files of the node to the pod's owner.
    log.warn("cannot bind a sub path", {
      pod: podKey(pod),
      container,
      volume: mount.name,
      error: failure.message,
    });
    const action = failure.code === "create" ? "create subPath directory" : "prepare subPath";
    const names = `volumeMount ${quoteText(mount.name)} of container ${quoteText(container)}`;
    return err(`failed to ${action} for ${names}`);
  }

  async #readText({ path: folder }: MountedVolume, path: string): Promise<string | undefined> {
    try {
      const file = { folder, path, maxBytes: maxEnvFileBytes };
      const data = await this.#deps.foreignFiles.readFile(file, this.#deps.lifetime);
      return data === undefined ? undefined : decodeUtf8(data);
    } catch (error) {
      this.#deps.log.warn("cannot read an environment file", { path, error: errorText(error) });
      return undefined;
    }
  }
}
