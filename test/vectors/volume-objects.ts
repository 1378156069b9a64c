// The API objects of a volume manager's world.
import type { Claims } from "../../src/engine/volumes/claims.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import { ApiError } from "../../src/model/api-error.ts";
import type {
  ConfigMap,
  CSIDriver,
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  VolumeAttachment,
} from "../../src/model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../src/model/look-up-failure.ts";
import type { ApiClient, ApiRequest } from "../../src/ports/api-client.ts";
import type { CsiObjects } from "../../src/ports/csi-objects.ts";
import type { PodEvent } from "../../src/ports/pod-events.ts";
import { withoutNulls } from "./encodings.ts";

export interface VolumeObjectsInput {
  readonly node: Node;
  readonly csiDrivers?: readonly CSIDriver[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly persistentVolumeClaims?: readonly PersistentVolumeClaim[];
  readonly volumeAttachments?: readonly VolumeAttachment[];
  readonly secrets?: readonly Secret[];
  readonly configMaps?: readonly ConfigMap[];
}

interface Named {
  readonly metadata?: ObjectMeta | undefined;
}

/** Steps that put an object, by the field that has it. */
export interface PutStep {
  readonly persistentVolume?: PersistentVolume;
  readonly persistentVolumeClaim?: PersistentVolumeClaim;
  readonly volumeAttachment?: VolumeAttachment;
  readonly secret?: Secret;
}

export class VolumeObjects {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly byController = true;
  readonly reportedInUse: readonly string[] = [];
  readonly csiDrivers: ReadonlyMap<string, CSIDriver>;
  attached: ReadonlyMap<string, string>;
  readonly #volumes: Map<string, PersistentVolume>;
  readonly #claims: Map<string, PersistentVolumeClaim>;
  readonly #attachments: Map<string, VolumeAttachment>;
  readonly #secrets: Map<string, Secret>;
  readonly #configMaps: Map<string, ConfigMap>;
  readonly #changed = new Map<string, PersistentVolumeClaim["status"]>();

  constructor(input: VolumeObjectsInput) {
    const { metadata, status } = input.node;
    this.nodeName = metadata?.name ?? "";
    this.labels = metadata?.labels ?? {};
    this.attached = new Map(
      (status?.volumesAttached ?? []).map(({ name, devicePath }) => [name, devicePath]),
    );
    this.csiDrivers = byKey(input.csiDrivers);
    this.#volumes = byKey(input.persistentVolumes);
    this.#claims = byKey(input.persistentVolumeClaims);
    this.#attachments = byKey(input.volumeAttachments);
    this.#secrets = byKey(input.secrets);
    this.#configMaps = byKey(input.configMaps);
  }

  put(step: PutStep): void {
    const { persistentVolume, persistentVolumeClaim, volumeAttachment, secret } = step;
    if (persistentVolume !== undefined) put(this.#volumes, persistentVolume);
    if (persistentVolumeClaim !== undefined) put(this.#claims, persistentVolumeClaim);
    if (volumeAttachment !== undefined) put(this.#attachments, volumeAttachment);
    if (secret !== undefined) put(this.#secrets, secret);
  }

  secret(namespace: string, name: string): Result<Secret, LookUpFailure> {
    return found(this.#secrets, "secrets", `${namespace}/${name}`);
  }

  configMap(namespace: string, name: string): Result<ConfigMap, LookUpFailure> {
    return found(this.#configMaps, "configmaps", `${namespace}/${name}`);
  }

  get csiObjects(): CsiObjects {
    return {
      csiDriver: (name) => ok(this.csiDrivers.get(name)),
      volumeAttachment: async (name) =>
        found(this.#attachments, "volumeattachments.storage.k8s.io", name),
      secret: async (namespace, name) => this.secret(namespace, name),
    };
  }

  claims(record: (object: string, event: PodEvent) => void): Claims {
    return {
      origin: "API server",
      claim: async (namespace, name) =>
        withText(found(this.#claims, "persistentvolumeclaims", `${namespace}/${name}`)),
      persistentVolume: async (name) => withText(found(this.#volumes, "persistentvolumes", name)),
      csiDriver: (name) => this.csiDrivers.get(name),
      patchStatus: async (claim, patch) => this.#patch(claim, patch),
      record: ({ metadata }, event) =>
        record(`PersistentVolumeClaim ${metadata?.namespace}/${metadata?.name}`, event),
      recordVolume: ({ metadata }, event) => record(`PersistentVolume ${metadata?.name}`, event),
    };
  }

  /** The statuses that were written since the last call. */
  takeClaimChanges(): object {
    const changes = Object.fromEntries(this.#changed);
    this.#changed.clear();
    return changes;
  }

  get api(): ApiClient {
    return {
      watch: () => {
        throw new Error("nothing is watched");
      },
      send: async <T>({ path, method, body }: ApiRequest): Promise<T> => {
        if (method !== "GET") return body as T;
        const name = path.slice(path.lastIndexOf("/") + 1);
        const attachment = this.#attachments.get(name);
        if (attachment !== undefined) return attachment as T;
        throw new ApiError(404, "NotFound", `${path} not found`);
      },
    };
  }

  #patch({ metadata }: PersistentVolumeClaim, patch: unknown): PersistentVolumeClaim {
    const key = keyOf({ metadata });
    const before = this.#claims.get(key);
    const { status } = patch as { readonly status: unknown };
    const next = { ...before, status: merged(before?.status, status) } as PersistentVolumeClaim;
    this.#claims.set(key, next);
    this.#changed.set(key, next.status);
    return next;
  }
}

function keyOf({ metadata }: Named): string {
  const { namespace, name = "" } = metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function put<T extends Named>(objects: Map<string, T>, object: T): void {
  objects.set(keyOf(object), withoutNulls(object));
}

function byKey<T extends Named>(objects: readonly T[] = []): Map<string, T> {
  return new Map(objects.map((object) => [keyOf(object), withoutNulls(object)]));
}

function found<T>(
  objects: ReadonlyMap<string, T>,
  resource: string,
  key: string,
): Result<T, LookUpFailure> {
  const object = objects.get(key);
  if (object !== undefined) return ok(object);
  const name = key.slice(key.indexOf("/") + 1);
  return err({ code: "not-found", message: `${resource} "${name}" not found` });
}

function withText<T>(result: Result<T, LookUpFailure>): Result<T, string> {
  return result.ok ? result : err(result.error.message);
}

/** A merge patch. */
function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(before as object | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
