import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../../../src/model/api-error.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { configHashAnnotation, isMirrorPod } from "../../../src/model/pod-source.ts";
import type { ApiClient, ApiRequest } from "../../../src/ports/api-client.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Change } from "../api-watchers.ts";
import { MemoryApi } from "../memory-api.ts";
import type { DeviceWorld } from "./devices/device-world.ts";
import type { Dice } from "./dice.ts";
import { parseManifest } from "./manifest-source.ts";
import type { PodManifest } from "./random-pod.ts";
import type { StorageWorld } from "./storage/storage-world.ts";

interface ApiWorldDeps {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly nodeName: string;
  readonly storage?: StorageWorld | undefined;
  readonly devices?: DeviceWorld | undefined;
}

const podsPath = "/api/v1/namespaces/default/pods";

/** A simulated cluster: an API server that goes wrong, and people who change pods there. */
export class ApiWorld {
  readonly #dice: Dice;
  readonly #clock: Clock;
  readonly #api: MemoryApi;
  readonly #nodeName: string;
  readonly #gone: Set<string> = new Set<string>();
  #isDown = false;
  /** How likely any request is to go wrong. */
  rate = 0;

  /** `onChange` is called for every pod that changed in the API server, `storage` learns of every change. */
  constructor(
    { clock, dice, nodeName, storage, devices }: ApiWorldDeps,
    onChange: (type: Change["type"], pod: Pod, isForced: boolean) => void,
  ) {
    this.#dice = dice;
    this.#clock = clock;
    this.#nodeName = nodeName;
    const uids = dice.split();
    this.#api = new MemoryApi(() => clock.nowMs(), {
      newUid: () => randomUid(uids),
      onChange: (change) => {
        storage?.noteChange(change);
        const { type, collection, object } = change;
        if (collection !== "v1/pods") return;
        const pod = object as unknown as Pod;
        onChange(type, pod, this.#gone.has(pod.metadata.uid));
      },
    });
    storage?.join(this.#api, () => this.#isDown);
    devices?.join(this.#api);
  }

  /** What the node's status reports. */
  get volumesInUse(): readonly string[] {
    const node = this.#api.get(`/api/v1/nodes/${this.#nodeName}`) as Node | undefined;
    return node?.status?.volumesInUse ?? [];
  }

  get pods(): readonly Pod[] {
    return this.#api.list("/api/v1/pods") as unknown as readonly Pod[];
  }

  /** Those that are not mirror pods. */
  get ownPods(): readonly Pod[] {
    return this.pods.filter((pod) => !isMirrorPod(pod));
  }

  /** What an agent talks to. */
  get client(): ApiClient {
    return {
      send: (request, signal) => this.#send(request, signal),
      watch: async (request, onEvent, signal) => {
        await this.#delay(signal);
        await this.#api.watch(request, onEvent, signal);
      },
    };
  }

  find(name: string): Pod | undefined {
    return this.#api.get(`${podsPath}/${name}`) as unknown as Pod | undefined;
  }

  /** The pod is bound to the node; no other pod may have its name. */
  create(manifest: PodManifest): Pod {
    const file = manifest.metadata.name;
    const pod = parseManifest(manifest, this.#nodeName, file, "configMapsAndSecrets");
    const { uid: _, annotations, ...metadata } = pod.metadata;
    const { [configHashAnnotation]: __, ...rest } = annotations ?? {};
    const { name } = manifest.metadata;
    const body = { ...pod, metadata: { ...metadata, name, annotations: rest, generation: 1 } };
    return this.#api.put(`${podsPath}/${name}`, body) as unknown as Pod;
  }

  /** Gracefully; or at once, which leaves what runs of it to the node. */
  remove(name: string, isForced: boolean): Promise<void> {
    return this.removeWithin(name, isForced ? 0 : undefined);
  }

  /** With that grace period; undefined = with the pod's own. */
  async removeWithin(name: string, gracePeriodSeconds: number | undefined): Promise<void> {
    const pod = this.find(name);
    if (pod === undefined) return;
    const seconds = gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
    if (seconds === 0) this.#gone.add(pod.metadata.uid);
    const body = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const signal = new AbortController().signal;
    await this.#api.send({ method: "DELETE", path: `${podsPath}/${name}`, body }, signal);
  }

  /** A client changes the spec of a pod. */
  edit(name: string, change: (spec: Pod["spec"]) => Pod["spec"]): Pod | undefined {
    const pod = this.find(name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    const spec = change(pod.spec);
    if (isDeepStrictEqual(spec, pod.spec)) return undefined;
    const generation = (pod.metadata.generation ?? 0) + 1;
    const edited = { ...pod, metadata: { ...pod.metadata, generation }, spec };
    return this.#api.put(`${podsPath}/${name}`, edited) as unknown as Pod;
  }

  /** A ConfigMap that pods may use; undefined takes it away. */
  setConfigMap(name: string, data: Readonly<Record<string, string>> | undefined): void {
    const path = `/api/v1/namespaces/default/configmaps/${name}`;
    if (data === undefined) this.#api.remove(path);
    else this.#api.put(path, { apiVersion: "v1", kind: "ConfigMap", data });
  }

  /** Ends all watches; those that come again may get the answer that their version is too old. */
  cutWatches(isCompacted: boolean): void {
    if (isCompacted) this.#api.compact();
    this.#api.cutWatches();
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) this.#api.goDown();
    else this.#api.comeBack();
  }

  async #send<T>(request: ApiRequest, signal: AbortSignal): Promise<T> {
    await this.#delay(signal);
    const fault = this.#dice.chance(this.rate)
      ? this.#dice.pick(["refused", "conflict", "busy", "lost", "slow"])
      : undefined;
    if (fault === "slow") await this.#clock.sleep(this.#dice.between(100, 15_000), signal);
    if (fault === "refused") throw new Error("connect ECONNREFUSED 127.0.0.1:6443");
    if (fault === "busy") throw new ApiError(429, "TooManyRequests", "try again later");
    if (fault === "conflict" && request.method !== "GET" && request.method !== "POST") {
      throw new ApiError(409, "Conflict", "the object has been modified");
    }
    const answer = await this.#api.send<T>(request, signal);
    if (fault === "lost") throw new Error("read ECONNRESET");
    return answer;
  }

  async #delay(signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(this.#dice.between(1, 30), signal);
  }
}

function randomUid(dice: Dice): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => dice.below(16).toString(16)).join("");
  return [8, 4, 4, 4, 12].map(digits).join("-");
}
