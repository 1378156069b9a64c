import { RuntimeError } from "../../../../src/model/runtime-error.ts";
import type { DraPluginClient } from "../../../../src/ports/dra-plugins.ts";
import { PluginProcess } from "../plugin-process.ts";
import { cdiDevice } from "./device-objects.ts";
import type { PluginDeps } from "./sim-device-plugin.ts";

/** The kubelet's. */
const deadlineMs = 45_000;

/** What an agent asks of a driver about one claim. */
export interface DraCall {
  readonly kind: "prepare" | "unprepare";
  readonly driver: string;
  readonly claimUid: string;
}

export interface DraDriverDeps extends PluginDeps {
  /** A call comes in. */
  readonly onCall: (call: DraCall) => void;
}

interface Claims {
  readonly claims?:
    | readonly { readonly uid?: string | undefined; readonly name?: string | undefined }[]
    | undefined;
}

/** A DRA driver on the simulated machine. What it prepared outlasts it. */
export class SimDraDriver {
  readonly name: string;
  readonly #deps: DraDriverDeps;
  readonly #process: PluginProcess;
  /** The claims that are prepared, by UID. */
  readonly prepared: Set<string> = new Set<string>();
  readonly #connections = new Set<(isConnected: boolean) => void>();
  #isBusy = false;

  constructor(name: string, deps: DraDriverDeps) {
    this.name = name;
    this.#deps = deps;
    const error = (code: RuntimeError["code"], text: string): Error =>
      new RuntimeError(name, code, text);
    this.#process = new PluginProcess({ ...deps, deadlineMs, error });
  }

  get isUp(): boolean {
    return this.#process.isUp;
  }

  start(): void {
    if (this.isUp) return;
    this.#process.start();
    for (const notify of this.#connections) notify(true);
  }

  die(): void {
    this.#process.die();
    for (const notify of this.#connections) notify(false);
  }

  /** What an agent calls. */
  connect(onConnected: (isConnected: boolean) => void): DraPluginClient {
    this.#connections.add(onConnected);
    const { clock, dice } = this.#deps;
    const { signal } = new AbortController();
    const notify = (): void => {
      if (this.isUp && this.#connections.has(onConnected)) onConnected(true);
    };
    void clock.sleep(dice.between(1, 20), signal).then(notify);
    return {
      nodePrepareResources: (request, given) =>
        this.#call("prepare", request, given, ({ uid = "", name = "" }) => {
          this.prepared.add(uid);
          const device = { poolName: "node", deviceName: `${name}-device` };
          return { devices: [{ ...device, cdiDeviceIds: [cdiDevice(this.name, name)] }] };
        }),
      nodeUnprepareResources: (request, given) =>
        this.#call("unprepare", request, given, ({ uid = "" }) => {
          this.prepared.delete(uid);
          return {};
        }),
      watchHealth: () =>
        Promise.reject(new RuntimeError("NodeWatchResources", "Unimplemented", "not served")),
      close: () => void this.#connections.delete(onConnected),
    };
  }

  #call<T>(
    kind: DraCall["kind"],
    { claims = [] }: Claims,
    signal: AbortSignal,
    answer: (claim: NonNullable<Claims["claims"]>[number]) => T,
  ): Promise<{ readonly claims: Readonly<Record<string, T>> }> {
    for (const { uid = "" } of claims) {
      this.#deps.onCall({ kind, driver: this.name, claimUid: uid });
    }
    const work = () =>
      this.#inTurn(async () => ({
        claims: Object.fromEntries(claims.map((claim) => [claim.uid ?? "", answer(claim)])),
      }));
    return this.#process.send(work, signal);
  }

  /** It refuses what comes while it is at work. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) throw new RuntimeError(this.name, "Aborted", "an operation is pending");
    this.#isBusy = true;
    try {
      return await this.#process.mayFail(work);
    } finally {
      this.#isBusy = false;
    }
  }
}
