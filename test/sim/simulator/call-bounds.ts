import { podUidLabel } from "../../../src/model/labels.ts";

/** A call that has no answer yet is not made again more often than this: what is in progress is not begun again. */
const mostOpen = 3;
/** Nor does the agent change more things of one pod than this within some seconds. */
const mostChanges = 100;
const windowMs = 5_000;

const changing = /^(run|stop|remove|create|start|update|publish|unpublish)/;
const removing = /^(remove|unmount)/;
/** Of what the runtime calls a sandbox or a container. */
const idLength = 64;
const uidText = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/;

interface OpenCall {
  readonly signal: AbortSignal | undefined;
}

interface PodCalls {
  /** Each call that has no answer yet, with the signals of all that made it. */
  readonly open: Map<string, Set<OpenCall>>;
  changes: number;
  sinceMs: number;
}

export interface CallBoundsDependencies {
  readonly nowMs: () => number;
  /** The UID of the pod that a sandbox or a container of the runtime belongs to. */
  readonly ownerOf: (id: string) => string | undefined;
  /** Something of the pod is about to be removed. */
  readonly onRemoval: (uid: string, method: string, firstArgument: unknown) => void;
  readonly fail: (message: string) => void;
}

/** Counts what one agent asks of the world for each pod: however many pods go at once, each costs little. */
export class CallBounds {
  readonly #deps: CallBoundsDependencies;
  readonly #pods = new Map<string, PodCalls>();
  /** The UIDs in texts that calls were given: paths, mostly, and the same ones again and again. */
  readonly #uids = new Map<string, string | undefined>();

  constructor(deps: CallBoundsDependencies) {
    this.#deps = deps;
  }

  /** A call begins; what this returns is called at its answer. */
  begin(method: string, args: readonly unknown[]): () => void {
    const uid = this.#podOf(args);
    if (uid === undefined) return nothing;
    if (removing.test(method)) this.#deps.onRemoval(uid, method, args[0]);
    const calls = this.#pods.get(uid) ?? { open: new Map(), changes: 0, sinceMs: 0 };
    this.#pods.set(uid, calls);
    if (changing.test(method)) this.#countChange(uid, calls);
    const made = { signal: undefined as AbortSignal | undefined };
    let call = method;
    for (const arg of args) {
      if (typeof arg === "string") call += ` ${arg}`;
      else if (arg instanceof AbortSignal) made.signal ??= arg;
    }
    const same = calls.open.get(call) ?? new Set();
    calls.open.set(call, same);
    same.add(made);
    if (same.size > mostOpen && dropGivenUp(same).size > mostOpen) {
      this.#deps.fail(`${same.size} times open for the pod ${uid}: ${call}`);
    }
    return () => {
      same.delete(made);
      if (same.size === 0) calls.open.delete(call);
    };
  }

  /** Whether the agent waits for the answer to that call, as `open` has it. */
  isOpen(uid: string, call: string): boolean {
    const same = this.#pods.get(uid)?.open.get(call);
    return same !== undefined && dropGivenUp(same).size > 0;
  }

  /** The calls that have no answer yet. */
  get open(): readonly string[] {
    return [...this.#pods.values()].flatMap(({ open }) =>
      [...open].filter(([, same]) => dropGivenUp(same).size > 0).map(([call]) => call),
    );
  }

  #countChange(uid: string, calls: PodCalls): void {
    const nowMs = this.#deps.nowMs();
    if (nowMs - calls.sinceMs > windowMs) {
      calls.sinceMs = nowMs;
      calls.changes = 0;
    }
    calls.changes += 1;
    if (calls.changes <= mostChanges) return;
    this.#deps.fail(`the pod ${uid} was changed ${calls.changes} times in ${windowMs / 1000} s`);
  }

  #podOf(args: readonly unknown[]): string | undefined {
    for (const arg of args) {
      const uid = typeof arg === "string" ? this.#podOfText(arg) : podOfObject(arg);
      if (uid !== undefined) return uid;
    }
    return undefined;
  }

  #podOfText(text: string): string | undefined {
    if (text.length === idLength) return this.#deps.ownerOf(text);
    if (this.#uids.has(text)) return this.#uids.get(text);
    const uid = uidText.exec(text)?.[0];
    this.#uids.set(text, uid);
    return uid;
  }
}

interface Named {
  readonly metadata?: { readonly uid?: string };
  readonly labels?: Readonly<Record<string, string>>;
  readonly labelSelector?: Readonly<Record<string, string>>;
  /** Where a driver publishes a volume for the pod. */
  readonly targetPath?: string;
}

function podOfObject(arg: unknown): string | undefined {
  if (typeof arg !== "object" || arg === null) return undefined;
  const { metadata, labels, labelSelector, targetPath } = arg as Named;
  if (targetPath !== undefined) return uidText.exec(targetPath)?.[0];
  const uid = labels?.[podUidLabel] ?? labelSelector?.[podUidLabel] ?? metadata?.uid;
  return uid === undefined || uid === "" ? undefined : uid;
}

/** Calls that the runtime never answers are no longer waited for. */
function dropGivenUp(same: Set<OpenCall>): Set<OpenCall> {
  for (const call of same) if (call.signal?.aborted === true) same.delete(call);
  return same;
}

function nothing(): void {}
