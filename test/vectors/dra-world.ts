// A DRA manager with its drivers and the API server's claims, driven by the steps of a vector.

import type {
  DraAnswer,
  DraCall,
  DraClaimResult,
  DraSteps,
} from "../../src/core/devices/dra/dra-calls.ts";
import {
  encodeDraCheckpoint,
  parseDraCheckpoint,
} from "../../src/core/devices/dra/dra-checkpoint.ts";
import { DraDrivers } from "../../src/core/devices/dra/dra-drivers.ts";
import { DraManager } from "../../src/core/devices/dra/dra-manager.ts";
import { compareText } from "../../src/lib/compare-text.ts";
import type { Result } from "../../src/lib/result.ts";
import type { Container, ResourceResourceClaim } from "../../src/model/generated/kubernetes.ts";
import { podUid } from "../../src/model/ids.ts";
import { findContainer, type Pod } from "../../src/model/pod.ts";
import { rpcError } from "./device-plugins.ts";

interface EncodedDriverDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareID?: string;
  readonly requestNames?: readonly string[];
  readonly cdiDeviceIDs?: readonly string[];
}

interface EncodedAnswers {
  readonly all?: boolean;
  readonly rpcError?: string;
  readonly claims?: Readonly<
    Record<string, { readonly error?: string; readonly devices?: readonly EncodedDriverDevice[] }>
  >;
}

interface EncodedDriver {
  readonly prepare?: EncodedAnswers;
  readonly unprepare?: EncodedAnswers;
}

interface Registration {
  readonly driver: string;
  readonly endpoint: string;
  readonly services?: readonly string[];
}

export type DraStep =
  | (Registration & { readonly op: "register" | "validate" | "deregister" | "stopServer" })
  | { readonly op: "setDriver"; readonly driver: string; readonly spec: EncodedDriver }
  | { readonly op: "setClaim"; readonly claim: ResourceResourceClaim }
  | { readonly op: "deleteClaim"; readonly claimName: string }
  | { readonly op: "prepare" | "unprepare" | "mightUnprepare"; readonly pod: string }
  | { readonly op: "resources" | "claimInfos"; readonly pod: string; readonly container: string }
  | { readonly op: "reconcile"; readonly activePods?: readonly string[] }
  | { readonly op: "restart"; readonly checkpointFile?: string };

export interface DraPrepareInput {
  readonly kind: "prepare";
  readonly drivers: Readonly<Record<string, EncodedDriver>>;
  readonly claims?: readonly ResourceResourceClaim[];
  readonly pods: readonly Pod[];
  readonly steps: readonly DraStep[];
}

const folder = "/DRA/";

export class DraWorld {
  readonly #answers: Map<string, EncodedDriver>;
  readonly #objects: Map<string, ResourceResourceClaim>;
  readonly #pods: ReadonlyMap<string, Pod>;
  #drivers = new DraDrivers();
  #manager: DraManager = new DraManager(this.#drivers);
  #calls: ({ readonly driver: string } & Record<string, unknown>)[] = [];
  #shownCache: string | undefined;
  hasFailed = false;
  checkpointFile: string = encodeDraCheckpoint();

  constructor({ drivers, claims = [], pods }: DraPrepareInput) {
    this.#answers = new Map(Object.entries(drivers));
    this.#objects = new Map(claims.map((claim) => [claim.metadata?.name ?? "", claim]));
    this.#pods = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  }

  run(step: DraStep): Record<string, unknown> {
    this.#calls = [];
    const answer = this.#act(step);
    if (this.hasFailed) return answer;
    const cache = this.#cache();
    const text = JSON.stringify(cache);
    const shown = text === this.#shownCache ? {} : { cache };
    this.#shownCache = text;
    const calls = this.#calls.toSorted((a, b) => compareText(a.driver, b.driver));
    return { ...answer, ...(calls.length > 0 ? { calls } : {}), ...shown };
  }

  #act(step: DraStep): Record<string, unknown> {
    switch (step.op) {
      case "register":
      case "validate":
      case "deregister":
      case "stopServer":
        return this.#registration(step);
      case "setDriver":
        this.#answers.set(step.driver, step.spec);
        return {};
      case "setClaim":
        this.#objects.set(step.claim.metadata?.name ?? "", step.claim);
        return {};
      case "deleteClaim":
        this.#objects.delete(step.claimName);
        return {};
      case "prepare":
        return failure(this.#finish(this.#manager.prepare(this.#pod(step.pod))));
      case "unprepare":
        return failure(this.#finish(this.#manager.unprepare(this.#pod(step.pod), () => true)));
      case "mightUnprepare":
        return { mightNeedToUnprepare: this.#manager.uses(podUid(step.pod)) };
      case "resources": {
        const devices = this.#manager.cdiDevices(this.#pod(step.pod), this.#container(step));
        return devices.ok
          ? { cdiDevices: devices.value.toSorted(compareText) }
          : { error: devices.error };
      }
      case "claimInfos": {
        const claims = this.#manager.containerClaims(this.#pod(step.pod), this.#container(step));
        return claims.ok
          ? { claims: claims.value.map(({ name }) => name) }
          : { error: claims.error };
      }
      case "reconcile":
        this.#finish(this.#manager.reconcile(new Set((step.activePods ?? []).map(podUid))));
        return {};
      case "restart":
        return this.#restart(step.checkpointFile);
    }
  }

  #registration({
    op,
    driver,
    endpoint,
    services = [],
  }: Registration & { readonly op: string }): Record<string, unknown> {
    const path = folder + endpoint;
    if (op === "validate") return { error: this.#drivers.validate(driver, path, services) };
    if (op === "deregister") this.#drivers.deregister(driver, path);
    if (op === "stopServer") this.#drivers.setConnected(driver, path, false);
    if (op !== "register") return {};
    const registered = this.#drivers.register(driver, path, services);
    if (!registered.ok) return { error: registered.error };
    this.#drivers.setConnected(driver, path, true);
    return {};
  }

  #restart(file: string | undefined): Record<string, unknown> {
    this.checkpointFile = file ?? this.checkpointFile;
    const claims = parseDraCheckpoint(this.checkpointFile);
    if (!claims.ok) {
      this.hasFailed = true;
      return { error: claims.error };
    }
    this.#drivers = new DraDrivers();
    this.#manager = new DraManager(this.#drivers, claims.value);
    return {};
  }

  #finish<T>(steps: DraSteps<T>): T {
    let next = steps.next();
    while (next.done !== true) next = steps.next(this.#answer(next.value));
    return next.value;
  }

  #answer(call: DraCall): DraAnswer {
    if (call.method === "SaveCheckpoint") {
      this.checkpointFile = encodeDraCheckpoint(this.#manager.claims.all());
      return { kind: "done" };
    }
    if (call.method === "GetClaim") {
      const claim = this.#objects.get(call.name);
      if (claim !== undefined) return { kind: "claim", claim };
      const error = `resourceclaims.resource.k8s.io "${call.name}" not found`;
      return { kind: "failed", error };
    }
    const { driver, endpoint, service } = call.plugin;
    this.#calls.push({
      driver,
      endpoint: endpoint.slice(folder.length),
      service: service.split(".")[0],
      method: call.method,
      claims: call.claims,
    });
    const own = this.#answers.get(driver) ?? {};
    const answers = (call.method === "NodePrepareResources" ? own.prepare : own.unprepare) ?? {};
    if (answers.rpcError !== undefined) {
      return { kind: "failed", error: rpcError(answers.rpcError) };
    }
    return { kind: "results", results: driverResults(call, answers) };
  }

  #cache(): Record<string, unknown> {
    const claims = this.#manager.claims.all().map((claim) => {
      const drivers = [...claim.drivers].map(([driver, devices]) => [
        driver,
        devices.map(({ pool, device, shareId, requests, cdiDevices }) => ({
          poolName: pool,
          deviceName: device,
          shareID: shareId,
          requestNames: requests,
          cdiDeviceIDs: cdiDevices,
        })),
      ]);
      const shown = {
        claimUID: claim.uid,
        podUIDs: [...claim.pods].toSorted(compareText),
        prepared: claim.isPrepared,
        driverState: Object.fromEntries(drivers),
      };
      return [`${claim.namespace}/${claim.name}`, shown] as const;
    });
    return Object.fromEntries(claims.toSorted(([a], [b]) => compareText(a, b)));
  }

  #pod(uid: string): Pod {
    const pod = this.#pods.get(uid);
    if (pod === undefined) throw new Error(`no pod ${uid}`);
    return pod;
  }

  #container(step: { readonly pod: string; readonly container: string }): Container {
    const placed = findContainer(this.#pod(step.pod), step.container);
    if (placed === undefined) throw new Error(`no container ${step.container}`);
    return placed.container;
  }
}

function failure(result: Result<void, string>): Record<string, unknown> {
  return result.ok ? {} : { error: result.error };
}

function driverResults(
  call: Extract<DraCall, { claims: unknown }>,
  { all, claims = {} }: EncodedAnswers,
): Map<string, DraClaimResult> {
  const results = new Map<string, DraClaimResult>();
  for (const { uid } of call.claims) {
    if (all === true) results.set(uid, { error: "", devices: [] });
  }
  for (const [uid, { error = "", devices = [] }] of Object.entries(claims)) {
    if (!uid.startsWith("bogus") && !call.claims.some((claim) => claim.uid === uid)) continue;
    const prepared = devices.map((device) => ({
      pool: device.poolName,
      device: device.deviceName,
      // v1beta1 has no field for it.
      shareId: call.plugin.service === "v1.DRAPlugin" ? device.shareID : undefined,
      requests: device.requestNames ?? [],
      cdiDevices: device.cdiDeviceIDs ?? [],
    }));
    results.set(uid, { error, devices: prepared });
  }
  return results;
}
