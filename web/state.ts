// What the page knows, and the loops that keep it current.

import { err } from "../src/lib/result.ts";
import type { Pod } from "../src/model/pod.ts";
import { ApiClient } from "./api/client.ts";
import { type Failure, unreachable } from "./api/failure.ts";
import type { UiInfo } from "./api/ui-info.ts";
import type { Usage } from "./lib/node-samples.ts";
import { sleep } from "./lib/sleep.ts";
import { Store } from "./lib/store.ts";
import { hrefOf, type Place, parsePlace } from "./routes.ts";

const infoPeriodMs = 10_000;
const retryMs = 2_000;
const unfinished: Failure = {
  ...unreachable,
  message:
    "the login did not come to its end: allow this page to store data, then run `berth ui` again",
};

/** Whether there is a session; `message` says why there is none. */
export type Session =
  | { readonly state: "known" }
  | { readonly state: "logging-in" }
  | { readonly state: "none"; readonly message?: string | undefined };

export interface LivePods {
  /** Whether they were listed yet. */
  readonly isListed: boolean;
  /** By UID, in the order of namespace and name. */
  readonly byUid: ReadonlyMap<string, Pod>;
}

export class PageState {
  readonly client: ApiClient;
  readonly session: Store<Session>;
  readonly place: Store<Place>;
  readonly info: Store<UiInfo | undefined> = new Store<UiInfo | undefined>(undefined);
  readonly pods: Store<LivePods> = new Store<LivePods>({ isListed: false, byUid: new Map() });
  /** What the node used, as this page has read it; the newest last. */
  readonly usage: Store<readonly Usage[]> = new Store<readonly Usage[]>([]);
  /** What keeps the page from being current; undefined = it is. */
  readonly trouble: Store<Failure | undefined> = new Store<Failure | undefined>(undefined);
  #troubles: { readonly pods?: Failure | undefined; readonly info?: Failure | undefined } = {};
  #clock = { nowMs: Date.now(), speed: 1, readMs: performance.now() };
  /** Changes that wait for the next frame. */
  #waiting: Map<string, Pod> | undefined;

  constructor() {
    this.client = new ApiClient((message) => this.session.set({ state: "none", message }));
    this.session = new Store<Session>(
      this.client.key === undefined ? { state: "none" } : { state: "known" },
    );
    this.place = new Store(parsePlace(location.hash));
  }

  /** Goes there; choosing another time is not a step that "back" takes back. */
  goTo(place: Place): void {
    history.replaceState(null, "", `${location.pathname}${hrefOf(place)}`);
    this.place.set(place);
  }

  /** The agent's time: that of a simulated node runs faster than the browser's. */
  nowMs(): number {
    const { nowMs, speed, readMs } = this.#clock;
    return nowMs + (performance.now() - readMs) * speed;
  }

  /** Keeps everything current while there is a session. Ends when `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    addEventListener("hashchange", () => void this.#arrive(signal), { signal });
    await this.#arrive(signal);
    while (!signal.aborted) {
      await this.#untilKnown(signal);
      const session = new AbortController();
      const release = this.session.subscribe(() => session.abort());
      const current = AbortSignal.any([signal, session.signal]);
      await Promise.all([this.#followInfo(current), this.#followPods(current)]);
      release();
    }
  }

  /** Goes where the address says; the address of `berth ui` logs in and is not kept. */
  async #arrive(signal: AbortSignal): Promise<void> {
    const code = /^#login=(.*)$/.exec(location.hash)?.[1];
    if (code === undefined) {
      this.place.set(parsePlace(location.hash));
      return;
    }
    history.replaceState(null, "", `${location.pathname}#/pods`);
    this.place.set(parsePlace(location.hash));
    this.session.set({ state: "logging-in" });
    const answer = await this.client.login(code, signal).catch(() => err(unfinished));
    if (signal.aborted) return;
    // A login that is of no use any more does not end the session that there is.
    const isKnown = answer.ok || this.client.key !== undefined;
    this.session.set(
      isKnown ? { state: "known" } : { state: "none", message: answer.error.message },
    );
  }

  async #untilKnown(signal: AbortSignal): Promise<void> {
    while (this.session.value.state !== "known" && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          release();
          signal.removeEventListener("abort", end);
          resolve();
        };
        const release = this.session.subscribe(end);
        signal.addEventListener("abort", end);
      });
    }
  }

  async #followInfo(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.client.get<UiInfo>("/ui/info", signal).catch(() => undefined);
      if (answer === undefined || signal.aborted) return;
      if (answer.ok) {
        const { nowMs, speed } = answer.value;
        this.#clock = { nowMs, speed, readMs: performance.now() };
        this.info.set(answer.value);
      }
      const isSilent = !answer.ok && answer.error.kind === "unreachable";
      this.#setTroubles({ info: isSilent ? answer.error : undefined });
      await sleep(answer.ok ? infoPeriodMs : retryMs, signal);
    }
  }

  async #followPods(signal: AbortSignal): Promise<void> {
    for await (const event of this.client.watch<Pod>("/api/v1/pods", signal)) {
      if (event.kind === "broken") this.#setTroubles({ pods: event.failure });
      else if (event.kind === "listed") {
        this.#setTroubles({ pods: undefined });
        this.#waiting = undefined;
        const byUid = new Map(event.items.map((pod) => [pod.metadata.uid, pod]));
        this.pods.set({ isListed: true, byUid });
      } else this.#change(event.type === "DELETED" ? "remove" : "put", event.object);
    }
  }

  /** Each loop takes back its own trouble alone. */
  #setTroubles(changed: { pods?: Failure | undefined; info?: Failure | undefined }): void {
    this.#troubles = { ...this.#troubles, ...changed };
    this.trouble.set(this.#troubles.pods ?? this.#troubles.info);
  }

  /** Many changes that come at once are shown at once. */
  #change(what: "put" | "remove", pod: Pod): void {
    if (this.#waiting === undefined) {
      this.#waiting = new Map(this.pods.value.byUid);
      setTimeout(() => this.#showChanges(), 50);
    }
    const { uid } = pod.metadata;
    if (what === "remove") this.#waiting.delete(uid);
    else this.#waiting.set(uid, pod);
  }

  #showChanges(): void {
    if (this.#waiting === undefined) return;
    this.pods.set({ isListed: true, byUid: this.#waiting });
    this.#waiting = undefined;
  }
}
