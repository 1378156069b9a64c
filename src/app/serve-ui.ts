// The page, where it is asked for: served in a thread of its own, whose troubles are never the agent's.
import type { ResourceLimits } from "node:worker_threads";
import { errorText } from "../lib/error-text.ts";
import { sleep } from "../lib/timers.ts";
import type { Log } from "../ports/log.ts";
import type { UiDoor, UiLogin } from "../ports/ui-door.ts";
import { digestOf, newSecret } from "../server/ui/logins.ts";
import {
  codeLifetimeMs,
  type UiCalls,
  type UiSettings,
  type UiThreadEvent,
  type UiThreadOrder,
} from "../server/ui/ui-settings.ts";
import { pageFolder, programPart } from "./program-parts.ts";
import { takeOverNotes } from "./take-over-notes.ts";
import type { UiChoice } from "./ui-options.ts";
import { WatchedThread } from "./watched-thread.ts";

/** What it sends is handed on in pieces; new objects mostly die young. */
const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };
const firstDelayMs = 1_000;
const longestDelayMs = 60_000;

/** The page of an agent, as it was asked for. */
export function servedUi(
  choice: UiChoice | undefined,
  { mode, agentSocket, log }: Pick<UiSettings, "mode" | "agentSocket"> & { readonly log: Log },
): ServedUi | undefined {
  if (choice === undefined) return undefined;
  const settings = { ...choice, mode, agentSocket, pageFolder };
  return new ServedUi({ settings, threadEntry: programPart("ui-thread"), log });
}

export interface ServedUiOptions {
  readonly settings: UiSettings;
  readonly threadEntry: URL | string;
  readonly log: Log;
}

export class ServedUi implements UiDoor {
  readonly #options: ServedUiOptions;
  #port: number | undefined;
  /** The one that serves now. */
  #thread: WatchedThread<UiCalls, UiThreadEvent> | undefined;
  #problem = "it is being started";

  constructor(options: ServedUiOptions) {
    this.#options = options;
  }

  newLogin(): UiLogin {
    if (this.#thread === undefined) return { kind: "not-served", problem: this.#problem };
    const code = newSecret();
    const order: UiThreadOrder = { codeDigest: digestOf(code) };
    this.#thread.send(order);
    const { host } = this.#options.settings.address;
    const name = host.includes(":") ? `[${host}]` : host;
    return {
      kind: "login",
      address: `http://${name}:${this.#port}/`,
      code,
      lifetimeMs: codeLifetimeMs,
    };
  }

  /** Serves until `signal` aborts. A port that is taken is tried again, and a thread that ends is started again. */
  async run(signal: AbortSignal): Promise<void> {
    let delayMs = firstDelayMs;
    while (!signal.aborted) {
      const wasServed = await this.#runOnce(signal);
      if (signal.aborted) return;
      if (wasServed) delayMs = firstDelayMs;
      await sleep(delayMs, signal).catch(() => undefined);
      delayMs = Math.min(2 * delayMs, longestDelayMs);
    }
  }

  async #runOnce(signal: AbortSignal): Promise<boolean> {
    const { settings, threadEntry: entry, log } = this.#options;
    // The port that was chosen at first is listened on again.
    const address = { ...settings.address, port: this.#port ?? settings.address.port };
    const thread = new WatchedThread<UiCalls, UiThreadEvent>({
      name: "ui",
      entry,
      resourceLimits,
      data: { settings: { ...settings, address } },
      calls: { record: async (notes) => takeOverNotes(notes, { log }) },
      handedOver: [],
    });
    let wasServed = false;
    const onEvent = (event: UiThreadEvent): void => {
      if (event.kind === "cannot-listen") {
        thread.end(new Error(event.message));
        return;
      }
      wasServed = true;
      this.#thread = thread;
      this.#port = event.port;
      this.#problem = "";
      log.info("the page is served, `berth ui` opens it", { host: address.host, port: event.port });
    };
    const problem = errorText(await thread.run(onEvent, signal));
    this.#thread = undefined;
    if (signal.aborted) return wasServed;
    // Once for each trouble, however often it is tried again.
    if (this.#problem !== problem) {
      log.error("the page cannot be served, trying again", { reason: problem });
    }
    this.#problem = problem;
    return wasServed;
  }
}
