import type { PodResources } from "../../../core/allocation/pod-allocation.ts";
import {
  encodeResourceCheckpoint,
  parseResourceCheckpoint,
} from "../../../core/allocation/resource-checkpoint.ts";
import { errorText } from "../../../lib/error-text.ts";
import type { ResourceRequirements } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { HostFiles } from "../../../ports/host-files.ts";
import type { Log } from "../../../ports/log.ts";
import type { PodTable, SliceWriter } from "../../pods/pod-table.ts";
import { ResizeStatuses } from "./resize-statuses.ts";

interface PodResourceRecordsDeps extends Pick<ResourceRecordsDeps, "files" | "log"> {
  readonly table: PodTable;
  readonly clock: Clock;
  readonly rootFolder: string;
}

/** What is known of the resources of pods. */
export interface PodResourceRecords {
  /** What pods were granted. */
  readonly allocated: ResourceRecords;
  /** What was applied to pods. */
  readonly actuated: ResourceRecords;
  readonly resizes: ResizeStatuses;
}

/** Lie where a kubelet has them too. */
export function createResourceRecords(deps: PodResourceRecordsDeps): PodResourceRecords {
  const { table, clock, rootFolder } = deps;
  return {
    allocated: new ResourceRecords({
      ...deps,
      slice: table.writer("allocated"),
      path: `${rootFolder}/allocated_pods_state`,
    }),
    actuated: new ResourceRecords({
      ...deps,
      slice: table.writer("actuated"),
      path: `${rootFolder}/actuated_pods_state`,
      isBrief: true,
    }),
    resizes: new ResizeStatuses(table, clock),
  };
}

interface ResourceRecordsDeps {
  readonly slice: SliceWriter<"allocated"> | SliceWriter<"actuated">;
  readonly files: Pick<HostFiles, "readText" | "writeFile" | "writeBriefly">;
  /** Whether the record means nothing after a restart of the machine. */
  readonly isBrief?: boolean;
  /** The file that holds the record; its folder exists. */
  readonly path: string;
  readonly log: Log;
}

const none: PodResources = { containers: new Map() };

/** The resources of pods, kept over restarts of the agent in a file that a kubelet can read and write too. */
export class ResourceRecords {
  readonly #deps: ResourceRecordsDeps;
  #isChanged = false;
  #hasFailed = false;
  #lastText: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(deps: ResourceRecordsDeps) {
    this.#deps = deps;
  }

  /** Reads what the agent before this one kept. A damaged file is as good as none. */
  async load(): Promise<void> {
    const { files, path, log } = this.#deps;
    const text = await files.readText(path);
    if (text === undefined) return;
    this.#lastText = text;
    const parsed = parseResourceCheckpoint(text);
    if (!parsed.ok) {
      log.error("cannot read the resources that pods were given; taking those they ask for", {
        file: path,
        error: parsed.error,
      });
      return;
    }
    for (const [uid, resources] of parsed.value) this.#deps.slice.set(uid, resources);
  }

  get(uid: PodUid): PodResources | undefined {
    return this.#deps.slice.get(uid);
  }

  set(uid: PodUid, resources: PodResources): void {
    this.#deps.slice.set(uid, resources);
    this.#isChanged = true;
  }

  setContainer(uid: PodUid, name: string, resources: ResourceRequirements): void {
    const before = this.get(uid) ?? none;
    this.set(uid, { ...before, containers: new Map([...before.containers, [name, resources]]) });
  }

  setPod(uid: PodUid, resources: ResourceRequirements | undefined): void {
    this.set(uid, { ...(this.get(uid) ?? none), pod: resources });
  }

  /** Whether the newest record could not be written. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Is written with the next change: the record of a pod that is gone does no harm. */
  remove(uid: PodUid): void {
    this.#deps.slice.set(uid, undefined);
  }

  /** Resolves when everything set so far is on disk, or could not be written; then the next call tries again. */
  async flush(): Promise<void> {
    this.#isChanged ||= this.#hasFailed;
    while (this.#isChanged || this.#writing !== undefined) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    const { files, path, isBrief, log } = this.#deps;
    this.#isChanged = false;
    this.#hasFailed = false;
    const text = encodeResourceCheckpoint(new Map(this.#deps.slice.entries()));
    if (text === this.#lastText) return;
    try {
      if (isBrief === true) await files.writeBriefly(path, text, 0o600);
      else await files.writeFile(path, text, 0o600);
      this.#lastText = text;
    } catch (error) {
      // A full disk must not keep pods from running.
      this.#hasFailed = true;
      log.warn("cannot write down the resources that pods have", {
        file: path,
        error: errorText(error),
      });
    }
  }
}
