import type { EnvSources } from "../../core/env/container-env.ts";
import type { ContainerMount, MountedVolume } from "../../core/mount/container-mounts.ts";
import { podSubPathsDirectory } from "../../core/paths/data-paths.ts";
import { isSamePayload } from "../../core/volume/plan-payload.ts";
import { usedVolumes } from "../../core/volume/used-volumes.ts";
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import type { PodUid } from "../../model/ids.ts";
import { type AnyContainer, type Pod, podKey } from "../../model/pod.ts";
import type { Payload } from "../../model/volume-payload.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { PodTable, PodVolumeState, SliceWriter } from "../pods/pod-table.ts";
import { publishPayload } from "./payload-volume.ts";
import { isFoundVolume, listVolumes, tearDownPod, tearDownVolume } from "./tear-down.ts";
import {
  countPlugins,
  measureMount,
  measureUnmount,
  type VolumeCounts,
  type VolumeMetricsDeps,
} from "./volume-metrics.ts";
import type { PodVolume, VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";
import { pluginOf, volumeRefusals } from "./volume-plugins.ts";

export interface VolumeManagerDeps extends VolumePluginDeps, VolumeMetricsDeps {
  readonly table: PodTable;
  readonly events: PodEvents;
  readonly log: Log;
  /** Ends with the agent. */
  readonly lifetime: AbortSignal;
}

const maxEnvFileBytes = 1024 * 1024;
/** Of all files that one container names together; further ones count as unreadable. */
const maxEnvFilesLength = 8 * maxEnvFileBytes;

/** A volume of a pod and what sets it up. */
interface WantedVolume extends PodVolume {
  readonly plugin: VolumePlugin;
}

/**
 * Brings the volumes of pods in line with their specs. The disk is the record of what is there: after a restart
 * it is read again, what is complete stays, and what is not wanted is removed.
 */
export class VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #work: SliceWriter<"volumes">;

  constructor(deps: VolumeManagerDeps) {
    this.#deps = deps;
    this.#work = deps.table.writer("volumes");
  }

  /** Sets up what is missing; an error says which volume is not ready and why. */
  async mount(pod: Pod, signal: AbortSignal): Promise<Result<void, string>> {
    const refusals = volumeRefusals(pod, this.#deps);
    if (refusals.length > 0) return err(joinedErrors(refusals));
    return this.#inTurn(pod.metadata.uid, () => this.#mountAll(pod, signal));
  }

  /** Also the volumes that a past agent mounted. */
  async unmount(uid: PodUid, signal: AbortSignal): Promise<void> {
    await this.#inTurn(uid, async () => {
      const plugins = mountedPlugins(this.#state(uid));
      this.#setState(uid, undefined);
      await measureUnmount(this.#deps, plugins, () => tearDownPod(this.#deps, uid, signal));
    });
  }

  countByPlugin(): VolumeCounts {
    const pods = [...this.#work.entries()].flatMap(([, { state }]) => state ?? []);
    return {
      desired_state_of_world: countPlugins(pods.flatMap(({ plugins }) => [...plugins.values()])),
      actual_state_of_world: countPlugins(pods.flatMap(mountedPlugins)),
    };
  }

  /** What is set up for a pod, by volume name. */
  mountedVolumes(uid: PodUid): ReadonlyMap<string, MountedVolume> {
    return this.#state(uid)?.mounted ?? new Map();
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
    const { subPath } = mount;
    if (subPath === undefined) return ok(mount.hostPath ?? "");
    const folder = podSubPathsDirectory(this.#deps.rootFolder, pod.metadata.uid);
    const target = `${folder}/${mount.name}/${container}/${subPath.mountIndex}`;
    const failure = await this.#inTurn(pod.metadata.uid, () =>
      this.#deps.foreignFiles.bindSubPath(
        { volumePath: subPath.volumePath, subPath: subPath.path, target },
        this.#deps.lifetime,
      ),
    );
    if (failure === undefined) return ok(target);
    // The details could disclose files of the node to the pod's owner.
    this.#deps.log.warn("cannot bind a sub path", {
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

  async #mountAll(pod: Pod, signal: AbortSignal): Promise<Result<void, string>> {
    const { uid } = pod.metadata;
    const wanted = wantedVolumes(pod);
    let state = this.#state(uid);
    if (state === undefined) {
      await this.#removeUnwanted(uid, wanted, signal);
      const wantedMs = this.#deps.clock.monotonicMs();
      state = { wantedMs, plugins: new Map(), mounted: new Map(), payloads: new Map() };
    }
    const plugins = new Map(wanted.map(({ plugin, volume }) => [volume.name, plugin.name]));
    this.#setState(uid, { ...state, plugins });
    const problems = await this.#bringAll(wanted, signal);
    // A volume that is set up serves the pod with what it has until its sources are there again.
    const mounted = this.mountedVolumes(uid);
    for (const problem of problems.values()) this.#report(pod, problem);
    return asResult([...problems].flatMap(([name, text]) => (mounted.has(name) ? [] : [text])));
  }

  async #removeUnwanted(
    uid: PodUid,
    wanted: readonly WantedVolume[],
    signal: AbortSignal,
  ): Promise<void> {
    const { metrics } = this.#deps;
    const present = await listVolumes(this.#deps, uid).catch((error: unknown) => {
      metrics.increment("reconstruct_volume_operations_errors_total");
      throw error;
    });
    metrics.increment("reconstruct_volume_operations_total", {}, present.length);
    for (const found of present) {
      const isWanted = wanted.some(({ plugin, volume }) =>
        isFoundVolume(found, plugin.name, volume.name),
      );
      if (!isWanted) await tearDownVolume(this.#deps, uid, found, signal);
    }
  }

  /** Brings each volume in line, all at once; answers the problems by volume name. */
  async #bringAll(
    wanted: readonly WantedVolume[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const results = await Promise.all(
      wanted.map(async (each) => {
        const { name } = each.volume;
        const done = await this.#tryBring(each, signal);
        const problem = `MountVolume.SetUp failed for volume ${quoteText(name)} : `;
        return done.ok ? undefined : ([name, `${problem}${done.error}`] as const);
      }),
    );
    return new Map(results.filter((result) => result !== undefined));
  }

  async #tryBring(wanted: WantedVolume, signal: AbortSignal): Promise<Result<void, string>> {
    const { pod, plugin, volume } = wanted;
    // What is set up and has no content to follow is left alone: nothing is done to it.
    const state = this.#state(pod.metadata.uid);
    const isMounted = state?.mounted.has(volume.name) === true;
    if (isMounted && plugin.payload === undefined) return ok(undefined);
    const measured = { plugin: plugin.name, wantedMs: isMounted ? undefined : state?.wantedMs };
    try {
      return await measureMount(this.#deps, measured, () => this.#bring(wanted, signal));
    } catch (error) {
      signal.throwIfAborted();
      return err(errorText(error));
    }
  }

  async #bring(
    { plugin, ...target }: WantedVolume,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const { uid } = target.pod.metadata;
    const { name } = target.volume;
    const payload = await plugin.payload?.(this.#deps, target, signal);
    if (payload?.ok === false) return payload;
    let present = this.mountedVolumes(uid).get(name);
    if (present === undefined) {
      const done = await plugin.setUp(this.#deps, target, signal);
      if (!done.ok) return done;
      present = done.value;
    }
    if (payload !== undefined) {
      const last = this.#state(uid)?.payloads.get(name);
      if (last === undefined || !isSamePayload(last, payload.value)) {
        const published = await publishPayload(this.#deps, target, present.path, payload.value);
        if (!published.ok) return published;
        this.#noteSetUp(uid, name, { payload: payload.value });
      }
    }
    this.#noteSetUp(uid, name, { volume: present });
    return ok(undefined);
  }

  #state(uid: PodUid): PodVolumeState | undefined {
    return this.#work.get(uid)?.state;
  }

  #setState(uid: PodUid, state: PodVolumeState | undefined): void {
    this.#work.set(uid, { ...this.#work.get(uid), state });
  }

  /** The volumes of a pod are set up side by side. */
  #noteSetUp(
    uid: PodUid,
    name: string,
    { volume, payload }: { readonly volume?: MountedVolume; readonly payload?: Payload },
  ): void {
    const state = this.#state(uid);
    if (state === undefined) return;
    const { mounted, payloads } = state;
    this.#setState(uid, {
      ...state,
      mounted: volume === undefined ? mounted : new Map([...mounted, [name, volume]]),
      payloads: payload === undefined ? payloads : new Map([...payloads, [name, payload]]),
    });
  }

  #report(pod: Pod, message: string): void {
    this.#deps.log.warn("cannot set up a volume", { pod: podKey(pod), error: message });
    this.#deps.events.record(pod, { type: "Warning", reason: "FailedMount", message });
  }

  async #inTurn<T>(uid: PodUid, work: () => Promise<T>): Promise<T> {
    const before = this.#work.get(uid);
    const turn = (before?.last ?? Promise.resolve()).then(work, work);
    this.#work.set(uid, { ...before, last: turn });
    try {
      return await turn;
    } finally {
      const { state, last } = this.#work.get(uid) ?? {};
      if (last === turn) this.#work.set(uid, state === undefined ? undefined : { state });
    }
  }
}

function mountedPlugins(state: PodVolumeState | undefined): readonly string[] {
  if (state === undefined) return [];
  return [...state.plugins].flatMap(([name, plugin]) => (state.mounted.has(name) ? [plugin] : []));
}

function wantedVolumes(pod: Pod): readonly WantedVolume[] {
  return usedVolumes(pod).flatMap((volume) => {
    const plugin = pluginOf(volume);
    return plugin === undefined ? [] : [{ pod, volume, plugin }];
  });
}

function asResult(problems: readonly string[]): Result<void, string> {
  return problems.length > 0 ? err(joinedErrors(problems)) : ok(undefined);
}
