// The CSI plugin with the files of this machine in a folder of its own, a recording driver, and the API objects of a vector.
import { createHash } from "node:crypto";
import { lstat, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageError } from "../../src/core/storage/storage-error.ts";
import type { VolumeSpec } from "../../src/core/storage/volume-spec.ts";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import { CsiDriverRegistry } from "../../src/engine/plugins/csi-driver-registry.ts";
import { CsiClients } from "../../src/engine/volumes/csi/csi-calls.ts";
import { csiPlugin } from "../../src/engine/volumes/csi/csi-plugin.ts";
import type { StoragePlugin } from "../../src/engine/volumes/storage-plugin.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type {
  CSIDriver,
  PersistentVolume,
  Secret,
  Volume,
  VolumeAttachment,
} from "../../src/model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../src/model/look-up-failure.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { ServiceAccountTokens } from "../../src/ports/service-account-tokens.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";
import { silentLog } from "../kit/silent-log.ts";
import {
  type DriverInput,
  type EncodedUsage,
  RecordingCsiDriver,
  type ScriptedFailure,
} from "./recording-csi-driver.ts";

export interface CsiInput {
  readonly nodeName: string;
  readonly driver: DriverInput;
  readonly csiDriver?: CSIDriver;
  readonly persistentVolume?: PersistentVolume;
  readonly readOnly?: boolean;
  readonly volume?: Volume;
  readonly pod: Pod;
  readonly secrets?: readonly Secret[];
  readonly volumeAttachments?: readonly VolumeAttachment[];
  readonly tokenError?: string;
  readonly steps: readonly CsiStep[];
}

export interface CsiStep {
  readonly op: string;
  readonly rpcErrors?: Readonly<Record<string, readonly ScriptedFailure[]>>;
  readonly capabilities?: readonly string[];
  readonly registered?: boolean;
  readonly isRemount?: boolean;
  readonly reconstructedVolume?: boolean;
  readonly seLinuxLabel?: string;
  readonly usage?: readonly EncodedUsage[];
  readonly noUsage?: boolean;
  readonly newSize?: string;
  readonly devicePath?: string;
  readonly deviceMountPath?: string;
  readonly deviceStagePath?: string;
  readonly capacityBytes?: number;
}

const shownRoot = "/var/lib/kubelet";
const tokenExpiry = Date.parse("2026-05-04T10:00:00Z");
const foreignFiles = testForeignFiles();

export class CsiWorld {
  readonly root: string;
  readonly input: CsiInput;
  readonly driver: RecordingCsiDriver;
  readonly plugin: StoragePlugin;
  readonly #registry = new CsiDriverRegistry();
  tokenRequests: unknown[] = [];

  static async open(input: CsiInput, publishes: "folder" | "device"): Promise<CsiWorld> {
    return new CsiWorld(await mkdtemp(join(tmpdir(), "berth-csi-")), input, publishes);
  }

  private constructor(root: string, input: CsiInput, publishes: "folder" | "device") {
    this.root = root;
    this.input = input;
    const driver = new RecordingCsiDriver(input.driver, publishes);
    this.driver = driver;
    if (input.driver.registered === true) this.#register();
    this.plugin = csiPlugin({
      names: {
        rootFolder: root,
        nodeName: input.nodeName,
        sha256: (text) => createHash("sha256").update(text).digest("hex"),
      },
      clients: new CsiClients({
        drivers: { connect: () => driver },
        registry: this.#registry,
        metrics: {
          increment: () => undefined,
          set: () => undefined,
          observe: () => undefined,
          reset: () => undefined,
          drop: () => undefined,
        },
        clock: {
          nowMs: () => 0,
          monotonicMs: () => 0,
          startTimer: () => ({ stop: () => undefined }),
          sleep: () => Promise.resolve(),
        },
      }),
      objects: {
        csiDriver: (wanted) =>
          ok(input.csiDriver?.metadata?.name === wanted ? input.csiDriver : undefined),
        volumeAttachment: async (wanted) =>
          lookUp("volumeattachments.storage.k8s.io", input.volumeAttachments, { name: wanted }),
        secret: async (namespace, wanted) =>
          lookUp("secrets", input.secrets, { namespace, name: wanted }),
      },
      tokens: this.#tokens(),
      files: hostFiles,
      foreignFiles,
      mounts: new DriverMounts(driver),
      events: { record: () => undefined },
      clock: systemClock,
      log: silentLog,
    });
  }

  get spec(): VolumeSpec {
    const { volume, persistentVolume = {}, readOnly = false } = this.input;
    if (volume !== undefined) return { source: "inline", volume };
    return { source: "persistentVolume", persistentVolume, readOnly };
  }

  /** What a step changes before its operation; capabilities and registration stay changed. */
  begin(step: CsiStep): void {
    const { rpcErrors = {}, capabilities, registered, usage, capacityBytes = 0 } = step;
    this.driver.calls = [];
    this.tokenRequests = [];
    this.driver.script(rpcErrors);
    if (capabilities !== undefined) this.driver.capabilities = capabilities;
    if (registered === true) this.#register();
    if (registered === false) this.#registry.delete(this.input.driver.name);
    this.driver.usage = step.noUsage === true ? undefined : usage;
    this.driver.capacityBytes = capacityBytes;
  }

  /** The calls and the files after a step, with the folder named as the kubelet's. */
  async end(answer: object): Promise<unknown> {
    const { calls } = this.driver;
    const tokenRequests =
      this.tokenRequests.length > 0 ? { tokenRequests: this.tokenRequests } : {};
    const files = await listFiles(this.root, "");
    const text = JSON.stringify({ calls, files, ...tokenRequests, ...answer });
    return JSON.parse(text.replaceAll(this.root, shownRoot));
  }

  async close(): Promise<void> {
    await rm(this.root, { recursive: true });
  }

  #register(): void {
    const version = { components: [1n, 0n, 0n] };
    this.#registry.set(this.input.driver.name, { endpoint: "/csi.sock", version });
  }

  #tokens(): ServiceAccountTokens {
    const { tokenError } = this.input;
    return {
      request: async ({ namespace, name, spec }) => {
        this.tokenRequests.push({ namespace, serviceAccount: name, spec });
        if (tokenError !== undefined) return err(tokenError);
        const token = `tok-${(spec.audiences ?? []).join("+")}-${spec.expirationSeconds ?? "none"}`;
        return ok({ token, expiresAtMs: tokenExpiry });
      },
    };
  }
}

/** Everything that the driver has staged or published is mounted. */
class DriverMounts extends SimMounts {
  readonly #driver: RecordingCsiDriver;

  constructor(driver: RecordingCsiDriver) {
    super();
    this.#driver = driver;
  }

  override async isMountPoint(path: string): Promise<boolean> {
    return this.#driver.mounted.has(path);
  }
}

/** As the answer of a failed step shows it; `isOver`: where that does not follow from the kind. */
export function encodeError({ kind, message }: StorageError, isOver?: boolean): object {
  const operationFinished = isOver ?? (kind !== "transient" && kind !== "uncertain");
  return { error: message, errorKind: kind, operationFinished };
}

/** Owner and permissions, which show whether the agent applied the fsGroup. */
export async function ownershipOf(path: string): Promise<object | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return undefined;
  return { gid: info.gid, mode: (info.mode & 0o7777).toString(8).padStart(4, "0") };
}

async function listFiles(folder: string, prefix: string): Promise<unknown[]> {
  const files: unknown[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const path = join(folder, name);
    const shown = `${prefix}${name}`;
    if ((await lstat(path)).isDirectory()) {
      files.push(`${shown}/`, ...(await listFiles(path, `${shown}/`)));
    } else if (name.endsWith(".json")) {
      files.push({ path: shown, json: JSON.parse(await readFile(path, "utf8")) });
    } else files.push(shown);
  }
  return files;
}

function lookUp<T extends Secret | VolumeAttachment>(
  resource: string,
  objects: readonly T[] | undefined,
  wanted: { readonly namespace?: string; readonly name: string },
): Result<T, LookUpFailure> {
  const found = objects?.find(
    ({ metadata }) => metadata?.name === wanted.name && metadata.namespace === wanted.namespace,
  );
  if (found !== undefined) return ok(found);
  return err({ code: "not-found", message: `${resource} "${wanted.name}" not found` });
}

/** The steps of an answer without what the operating system says about an error: Go has other words for it. */
export function withoutSystemTexts(answer: unknown): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) =>
    key === "error" && typeof value === "string" ? value.replace(systemText, "(system)") : value,
  );
  return JSON.parse(text);
}

const systemText =
  /(?:\b(?:lstat|stat|open|remove|mkdir|unlink|readlink) \/\S*: |\bE[A-Z]{3,}: ).*$/s;
