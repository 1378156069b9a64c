import { podsWithDevices, withClaimHealth } from "../../core/devices/dra/claim-health.ts";
import { DeviceHealths, type ReportedHealth } from "../../core/devices/dra/device-health.ts";
import type { DraAnswer, DraCall, DraSteps } from "../../core/devices/dra/dra-calls.ts";
import { encodeDraCheckpoint, parseDraCheckpoint } from "../../core/devices/dra/dra-checkpoint.ts";
import { DraManager } from "../../core/devices/dra/dra-manager.ts";
import { podClaims } from "../../core/devices/dra/pod-claims.ts";
import { compareText } from "../../lib/compare-text.ts";
import { errorText } from "../../lib/error-text.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import type { Result } from "../../lib/result.ts";
import { SetupError } from "../../lib/setup-error.ts";
import type { PodStatus, ResourceResourceClaim } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import { readObject } from "../cluster/read-object.ts";
import type { DraEndpoints, HealthSink } from "./dra-endpoints.ts";
import type { Holders } from "./holders.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";
import { StateFile } from "./state-file.ts";

/** The kubelet's. */
const reconcileMs = 60_000;

export interface ClaimResourcesDeps {
  readonly endpoints: Pick<DraEndpoints, "drivers" | "call">;
  /** Undefined = the node belongs to no cluster: there are no claims. */
  readonly apiServer?: { readonly api: ApiClient } | undefined;
  readonly files: Pick<HostFiles, "readText" | "writeFile">;
  readonly rootFolder: string;
  readonly holders: Holders;
  readonly wakeups: Pick<Wakeups, "look">;
  readonly managerMetrics: Pick<ManagerMetrics, "measureClaims">;
  readonly clock: Clock;
  readonly log: Log;
  readonly lifetime: AbortSignal;
}

/** The ResourceClaims of pods: their drivers prepare them before the pod's sandbox, and take them back after its containers. */
export class ClaimResources implements HealthSink {
  readonly #deps: ClaimResourcesDeps;
  readonly #file: StateFile;
  readonly #healthFile: StateFile;
  readonly #healths = new DeviceHealths();
  /** By claim, one pod at a time: what one pod gives back the next may be about to use. A driver that hangs holds up no other claim. */
  readonly #turns = new KeyedTurns();
  #manager: DraManager;

  constructor(deps: ClaimResourcesDeps) {
    this.#deps = deps;
    this.#manager = new DraManager(deps.endpoints.drivers);
    this.#file = new StateFile(deps.files, `${deps.rootFolder}/dra_manager_state`);
    this.#healthFile = new StateFile(deps.files, `${deps.rootFolder}/dra_health_state`);
  }

  get manager(): DraManager {
    return this.#manager;
  }

  /** Takes over the claims that the agent or kubelet before this one had prepared. */
  async start(): Promise<void> {
    const { endpoints, log } = this.#deps;
    const text = await this.#file.read();
    if (text !== undefined) {
      const claims = parseDraCheckpoint(text);
      if (!claims.ok) {
        throw new SetupError(
          claims.error,
          `remove ${this.#file.path} once no pod with claims runs here`,
        );
      }
      this.#manager = new DraManager(endpoints.drivers, claims.value);
    }
    try {
      const healths = await this.#healthFile.read();
      if (healths !== undefined) this.#healths.restore(healths);
    } catch (error) {
      log.warn("cannot read the health of devices", { error: errorText(error) });
    }
  }

  /** Gives back from time to time what pods that are gone have left. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, holders, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(reconcileMs, signal).catch(() => undefined);
      if (signal.aborted || !holders.areKnown) continue;
      const active = holders.uids();
      for (const uid of new Set(this.#users().filter((user) => !active.has(user)))) {
        const failures = await this.release(uid);
        for (const error of failures) log.warn("cannot give a claim back, trying again", { error });
      }
    }
  }

  #users(): readonly PodUid[] {
    return this.#manager.claims.all().flatMap(({ pods }) => [...pods]);
  }

  /** Whether the pod uses claims at all. */
  concerns(pod: Pod): boolean {
    return podClaims(pod).length > 0;
  }

  async prepare(pod: Pod): Promise<Result<void, string>> {
    return await this.#deps.managerMetrics.measureClaims("PrepareResources", () =>
      this.#take(claimKeys(pod), () => this.#manager.prepare(pod)),
    );
  }

  /** The pod's containers have ended. */
  async unprepare(pod: Pod): Promise<Result<void, string>> {
    return await this.#deps.managerMetrics.measureClaims("UnprepareResources", () =>
      this.#take(claimKeys(pod), () => this.#manager.unprepare(pod)),
    );
  }

  /** Whether the end of the pod has to wait for its claims. */
  uses(uid: PodUid): boolean {
    return this.#manager.uses(uid);
  }

  /** The same for a pod whose spec is not known any more. Returns what failed. */
  async release(uid: PodUid): Promise<readonly string[]> {
    const used = this.#manager.claims.all().filter(({ pods }) => pods.has(uid));
    if (used.length === 0) return [];
    return await this.#take(used.map(claimKey), () =>
      this.#manager.reconcile(new Set(this.#users().filter((user) => user !== uid))),
    );
  }

  cdiDevices(pod: Pod, container: AnyContainer): Result<readonly string[], string> {
    return this.#manager.cdiDevices(pod, container);
  }

  withHealth(pod: Pod, status: PodStatus): PodStatus {
    const { claims } = this.#manager;
    if (!this.uses(pod.metadata.uid)) return status;
    const nowMs = this.#deps.clock.nowMs();
    return withClaimHealth(pod, status, { claims, healths: this.#healths, nowMs });
  }

  noteHealth(driver: string, reports: readonly ReportedHealth[]): void {
    const changed = this.#healths.update(driver, reports, this.#deps.clock.nowMs());
    if (changed.length === 0) return;
    this.#saveHealth();
    for (const uid of podsWithDevices(this.#manager.claims, driver, changed)) {
      this.#deps.wakeups.look(uid);
    }
  }

  noteHealthEnd(driver: string): void {
    this.#healths.clear(driver);
    this.#saveHealth();
  }

  #saveHealth(): void {
    this.#healthFile.save(this.#healths.encode()).catch((error: unknown) => {
      this.#deps.log.warn("cannot write down the health of devices", { error: errorText(error) });
    });
  }

  /** The turns are taken in one order by all, so that no two pods wait for each other. */
  async #take<T>(claims: readonly string[], begin: () => DraSteps<T>): Promise<T> {
    let work = async (): Promise<T> => {
      const steps = begin();
      let next = steps.next();
      while (next.done !== true) next = steps.next(await this.#answer(next.value));
      return next.value;
    };
    for (const claim of [...new Set(claims)].toSorted(compareText).toReversed()) {
      const inner = work;
      work = () => this.#turns.run(claim, inner);
    }
    return await work();
  }

  async #answer(call: DraCall): Promise<DraAnswer> {
    const { endpoints } = this.#deps;
    switch (call.method) {
      case "GetClaim":
        return await this.#readClaim(call.namespace, call.name);
      case "SaveCheckpoint":
        try {
          await this.#file.save(encodeDraCheckpoint(this.#manager.claims.all()));
          return { kind: "done" };
        } catch (error) {
          return { kind: "failed", error: errorText(error) };
        }
      default:
        return await endpoints.call(call.method, call.plugin, call.claims);
    }
  }

  async #readClaim(namespace: string, name: string): Promise<DraAnswer> {
    const { apiServer, clock, lifetime } = this.#deps;
    if (apiServer === undefined) {
      return { kind: "failed", error: "this node belongs to no cluster, which has the claims" };
    }
    const path = `/apis/resource.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/resourceclaims/${encodeURIComponent(name)}`;
    const found = await readObject<ResourceResourceClaim>({ ...apiServer, clock }, path, lifetime);
    return found.ok
      ? { kind: "claim", claim: found.value }
      : { kind: "failed", error: found.error.message };
  }
}

function claimKeys(pod: Pod): readonly string[] {
  const { namespace } = pod.metadata;
  return podClaims(pod).flatMap((claim) =>
    claim.ok && claim.value !== undefined ? [claimKey({ namespace, name: claim.value.name })] : [],
  );
}

function claimKey({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): string {
  return `${namespace}/${name}`;
}
