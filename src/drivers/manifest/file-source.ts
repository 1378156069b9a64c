import { setImmediate } from "node:timers/promises";
import { errorText } from "../../lib/error-text.ts";
import { sleep, startTimer } from "../../lib/timers.ts";
import { trimEndOf } from "../../lib/trim-text.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import { bindClaims, claimKey } from "../../model/manifest/bind-claims.ts";
import { DefinedNames } from "../../model/manifest/defined-names.ts";
import type { ManifestText } from "../../model/manifest/manifest-text.ts";
import { podKey } from "../../model/pod.ts";
import type {
  PodSource,
  SourceProblem,
  SourceSink,
  SourceSnapshot,
} from "../../ports/pod-source.ts";
import { FolderWatcher } from "./folder-watcher.ts";
import type { LastGoodFiles } from "./last-good-files.ts";
import { type FolderContent, ManifestReader } from "./manifest-folder.ts";
import { type FileObjects, type ManifestMode, parseFile } from "./parse-file.ts";

export interface FileSourceOptions {
  /** A folder of manifests, or one manifest. */
  readonly path: string;
  readonly nodeName: string;
  readonly mode: ManifestMode;
  /** How often everything is read again even if nothing seems to have changed. */
  readonly rescanMs?: number;
  /** Remembers good versions of files beyond the life of the agent. */
  readonly lastGood?: LastGoodFiles;
}

interface Scan {
  readonly snapshot?: SourceSnapshot;
  readonly problems?: readonly SourceProblem[];
  readonly isUncertain: boolean;
}

const defaultRescanMs = 20_000;
// A file that is moved into place is whole at once. An editor or a copy changes a file in several steps; where many files
// change, each reading is of all of them.
const movedSettleMs = 2;
const writtenSettleMs = 10;
const busySettleMs = 50;
const busyMs = 500;
// A folder that is replaced is missing for a moment; a folder that is removed stays missing.
const missingGraceMs = 1000;

/** Pods, and in `berth up` the objects that they refer to, from files. */
export function createFileSource(options: FileSourceOptions): PodSource {
  return {
    name: "file",
    run: (sink, signal) => new FileSource(options).run(sink, signal),
  };
}

/** What made the source read again. Only a full list, as on start and at each rescan, forgets what is no longer valid. */
type Trigger = "list" | "event";

interface FileState {
  readonly text: string;
  readonly objects: FileObjects | undefined;
  readonly problems: readonly SourceProblem[];
}

/** Owns what is known of each file while the source runs. */
class FileSource {
  readonly #path: string;
  readonly #options: FileSourceOptions;
  readonly #reader: ManifestReader;
  readonly #wakeUp = new WakeUp({ startTimer });
  readonly #watcher = new FolderWatcher((change) => {
    if (change === "written") this.#isBeingWritten = true;
    this.#wakeUp.notify();
  });
  #isBeingWritten = false;
  #files: ReadonlyMap<string, FileState> = new Map();
  #kind: FolderContent["kind"] | undefined;
  #ignored: readonly string[] = [];
  #delivered: string | undefined;
  /** What was delivered last is all that is known now. */
  #isCurrent = false;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = trimEndOf(options.path, "/") || options.path.slice(0, 1);
    const names = options.mode === "kubelet" ? "all" : "yamlAndJson";
    this.#reader = new ManifestReader(this.#path, names);
  }

  async run(sink: SourceSink, signal: AbortSignal): Promise<void> {
    const rescanMs = this.#options.rescanMs ?? defaultRescanMs;
    let trigger: Trigger = "list";
    let waitMs = rescanMs;
    try {
      while (!signal.aborted) {
        this.#wakeUp.clear();
        this.#forgetRecreated(this.#watcher.takeRecreated(), sink);
        const { snapshot, problems, isUncertain } = await this.#scan(trigger);
        const scannedMs = performance.now();
        if (signal.aborted) return;
        if (snapshot !== undefined) this.#deliverChanged(snapshot, sink);
        else if (problems !== undefined) sink.report(problems);
        waitMs = isUncertain ? missingGraceMs : rescanMs;
        const reason = await this.#wakeUp.wait(waitMs, signal);
        if (reason === "notified") await this.#settle(scannedMs, signal);
        trigger = reason === "notified" ? "event" : "list";
      }
    } finally {
      this.#watcher.close();
    }
  }

  async #settle(scannedMs: number, signal: AbortSignal): Promise<void> {
    const isBusy = performance.now() - scannedMs < busyMs;
    const pause = (ms: number) => sleep(ms, signal).catch(() => undefined);
    await pause(isBusy ? busySettleMs : movedSettleMs);
    // A new file is announced before its first byte is written.
    if (this.#isBeingWritten && !isBusy) await pause(writtenSettleMs - movedSettleMs);
    this.#isBeingWritten = false;
  }

  /** A manifest that is removed and written again restarts its pods in the kubelet, even if they are the same. */
  #forgetRecreated(paths: ReadonlySet<string>, sink: SourceSink): void {
    const known = [...this.#files].filter(([path]) => paths.has(path));
    if (known.length === 0 || this.#options.mode !== "kubelet") return;
    this.#files = new Map([...this.#files].filter(([path]) => !paths.has(path)));
    this.#isCurrent = false;
    this.#deliverChanged(this.#snapshot([]), sink);
  }

  #deliverChanged(snapshot: SourceSnapshot, { deliver }: SourceSink): void {
    const text = JSON.stringify(snapshot);
    if (text === this.#delivered) return;
    this.#delivered = text;
    deliver(snapshot);
  }

  /** Reads everything; no snapshot means that nothing can be said yet, but perhaps why. */
  async #scan(trigger: Trigger): Promise<Scan> {
    let content: FolderContent;
    try {
      content = await this.#read();
    } catch (error) {
      const problems = [{ origin: this.#path, message: errorText(error) }];
      this.#isCurrent = false;
      if (this.#kind === undefined) return { problems, isUncertain: false };
      return { snapshot: this.#snapshot(problems), isUncertain: false };
    }
    if (content.kind === "missing" && trigger === "event" && this.#kind !== undefined) {
      return { isUncertain: this.#kind !== "missing" };
    }
    const files = await this.#updatedFiles(content, trigger);
    if (this.#isShown(files, content)) return { isUncertain: false };
    this.#files = files;
    this.#options.lastGood?.keepOnly(this.#files.keys());
    // A single file that never was valid must not count as an empty list of pods.
    const isUnknown = this.#kind === undefined && this.#options.mode === "kubelet";
    const states = [...this.#files.values()];
    if (content.kind === "file" && isUnknown && states.every(({ objects }) => !objects)) {
      return { problems: states.flatMap(({ problems }) => problems), isUncertain: false };
    }
    this.#kind = content.kind;
    this.#ignored = content.ignored;
    this.#isCurrent = true;
    return { snapshot: this.#snapshot(this.#folderProblems(content)), isUncertain: false };
  }

  /** Whether nothing at all has changed: then there is nothing to put together and compare. */
  #isShown(files: ReadonlyMap<string, FileState>, { kind, ignored }: FolderContent): boolean {
    return (
      this.#isCurrent &&
      kind === this.#kind &&
      files.size === this.#files.size &&
      [...files].every(([path, state]) => this.#files.get(path) === state) &&
      ignored.length === this.#ignored.length &&
      ignored.every((path, index) => path === this.#ignored[index])
    );
  }

  /** Reads, and reads again when the watchers were opened only after the first reading. */
  async #read(): Promise<FolderContent> {
    const content = await this.#reader.read();
    if (!(await this.#watcher.watchOnly(content.watched))) return content;
    return this.#reader.read();
  }

  /** Each file that is parsed has a turn of the event loop for itself. */
  async #updatedFiles(
    content: FolderContent,
    trigger: Trigger,
  ): Promise<ReadonlyMap<string, FileState>> {
    const files = new Map<string, FileState>();
    for (const file of content.files) {
      const state = this.#updatedFile(file, trigger);
      files.set(file.path, state);
      if (state !== this.#files.get(file.path)) await setImmediate();
    }
    for (const { path, message } of content.unreadable) {
      const objects = this.#keptObjects(path, trigger);
      files.set(path, { text: "", objects, problems: [{ origin: path, message }] });
    }
    return files;
  }

  #updatedFile(file: ManifestText, trigger: Trigger): FileState {
    const known = this.#files.get(file.path);
    const isSettled = known?.problems.length === 0 || this.#options.mode === "up";
    if (known?.text === file.text && isSettled) return known;
    const parsed = parseFile(file, this.#options.nodeName, this.#options.mode);
    if (parsed.ok) {
      return { text: file.text, objects: parsed.value, problems: this.#keepCopy(file) };
    }
    const objects = this.#keptObjects(file.path, trigger) ?? this.#storedObjects(file.path);
    return { text: file.text, objects, problems: parsed.error };
  }

  /** A copy that cannot be kept, on a full disk, is reported but stops no pod. */
  #keepCopy({ path, text }: ManifestText): readonly SourceProblem[] {
    try {
      this.#options.lastGood?.save(path, text);
      return [];
    } catch (error) {
      return [{ origin: path, message: `cannot keep a copy of it: ${errorText(error)}` }];
    }
  }

  /** What the file said when it was last good, if that was under an earlier agent. */
  #storedObjects(path: string): FileObjects | undefined {
    const text = this.#files.has(path) ? undefined : this.#options.lastGood?.load(path);
    if (text === undefined) return undefined;
    const parsed = parseFile({ path, text }, this.#options.nodeName, this.#options.mode);
    return parsed.ok ? parsed.value : undefined;
  }

  /** The last good version of a file stays; the kubelet gives it up at its next full list, unless it is its only file. */
  #keptObjects(path: string, trigger: Trigger): FileObjects | undefined {
    const isKept = this.#options.mode === "up" || trigger === "event" || path === this.#path;
    return isKept ? this.#files.get(path)?.objects : undefined;
  }

  #folderProblems(content: FolderContent): SourceProblem[] {
    if (content.kind !== "missing") return [];
    const message =
      this.#options.mode === "kubelet"
        ? "path does not exist, ignoring"
        : "does not exist: no pods are wanted from it until it is there again";
    return [{ origin: this.#path, message }];
  }

  #snapshot(folderProblems: readonly SourceProblem[]): SourceSnapshot {
    const states = [...this.#files].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const merged = mergeObjects(states, this.#options.mode);
    return {
      ...merged.objects,
      problems: [
        ...folderProblems,
        ...states.flatMap(([, state]) => problemsOf(state)),
        ...merged.problems,
      ],
      unknownFields: states.flatMap(([, { objects }]) => objects?.unknownFields ?? []),
      ignored: this.#ignored,
    };
  }
}

function problemsOf({ objects, problems }: FileState): readonly SourceProblem[] {
  const pods = objects?.pods.map(podKey) ?? [];
  return pods.length === 0 ? problems : problems.map((problem) => ({ ...problem, pods }));
}

/** One object per name. The kubelet lets the last of two files win without a word; `berth up` keeps the first and says so. */
function mergeObjects(
  states: readonly (readonly [string, FileState])[],
  mode: ManifestMode,
): { readonly objects: FileObjects; readonly problems: readonly SourceProblem[] } {
  const problems: SourceProblem[] = [];
  const names = new DefinedNames();
  const select = <T>(
    kind: string,
    listOf: (objects: FileObjects) => readonly T[],
    keyOf: (object: T) => string,
  ): readonly T[] => {
    const chosen = new Map<string, T>();
    for (const [path, { objects }] of states) {
      for (const object of objects === undefined ? [] : listOf(objects)) {
        const key = keyOf(object);
        const message = mode === "kubelet" ? undefined : names.define(kind, key, path);
        if (message === undefined) chosen.set(key, object);
        else problems.push(doubled(path, message, kind === "Pod" ? [key] : undefined));
      }
    }
    return [...chosen.values()];
  };
  const objects = {
    pods: select("Pod", ({ pods }) => pods, podKey),
    configMaps: select("ConfigMap", ({ configMaps }) => configMaps, objectKey),
    secrets: select("Secret", ({ secrets }) => secrets, objectKey),
    runtimeClasses: select("RuntimeClass", ({ runtimeClasses = [] }) => runtimeClasses, nameOf),
    claims: select("PersistentVolumeClaim", ({ claims = [] }) => claims, claimKey),
    persistentVolumes: select(
      "PersistentVolume",
      ({ persistentVolumes = [] }) => persistentVolumes,
      nameOf,
    ),
    csiDrivers: select("CSIDriver", ({ csiDrivers = [] }) => csiDrivers, nameOf),
  };
  return { objects, problems: [...problems, ...bindingProblems(objects, states)] };
}

/** Claims that get no volume, whichever files they and the volumes lie in. */
function bindingProblems(
  { claims, persistentVolumes }: Required<Pick<FileObjects, "claims" | "persistentVolumes">>,
  states: readonly (readonly [string, FileState])[],
): readonly SourceProblem[] {
  return bindClaims(claims, persistentVolumes).flatMap((binding) => {
    if (binding.kind !== "none") return [];
    const { claim, field, message } = binding;
    const [origin = ""] = states.find(([, { objects }]) => objects?.claims?.includes(claim)) ?? [];
    const text = `PersistentVolumeClaim ${claimKey(claim)}: ${message}`;
    return [{ origin, field, message: text }];
  });
}

function nameOf({
  metadata,
}: {
  readonly metadata?: { readonly name?: string | undefined } | undefined;
}): string {
  return metadata?.name ?? "";
}

function doubled(
  origin: string,
  message: string,
  pods: readonly string[] | undefined,
): SourceProblem {
  return { origin, field: "metadata.name", message, ...(pods === undefined ? {} : { pods }) };
}

function objectKey({
  metadata,
}: {
  readonly metadata?:
    | { readonly namespace?: string | undefined; readonly name?: string | undefined }
    | undefined;
}): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
