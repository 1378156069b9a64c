import { RuntimeError } from "../../../../src/model/runtime-error.ts";
import type { Clock } from "../../../../src/ports/clock.ts";
import type { DevicePluginClient } from "../../../../src/ports/device-plugins.ts";
import type { Dice } from "../dice.ts";
import type { PluginFaults } from "../plugin-faults.ts";
import { PluginProcess } from "../plugin-process.ts";
import { devicePaths, type SimResource } from "./device-objects.ts";

/** A plugin waits longer than the agent does. */
const deadlineMs = 900_000;

export interface PluginDeps {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly faults: PluginFaults;
}

/** A device plugin on the simulated machine. It may die and come back, and its devices may be lost and found. */
export class SimDevicePlugin {
  readonly resource: SimResource;
  readonly process: PluginProcess;
  readonly #deps: PluginDeps;
  readonly #unhealthy = new Set<string>();
  readonly #missing = new Set<string>();
  readonly #streams = new Set<() => void>();

  constructor(resource: SimResource, deps: PluginDeps) {
    this.resource = resource;
    this.#deps = deps;
    const error = (code: RuntimeError["code"], text: string): Error =>
      new RuntimeError(resource.name, code, text);
    this.process = new PluginProcess({ ...deps, deadlineMs, error });
  }

  get hasHealthy(): boolean {
    return this.#devices.some(({ health }) => health === "Healthy");
  }

  /** One of the devices fails, or is gone. */
  loseDevice(): string {
    const { dice } = this.#deps;
    const { id } = dice.pick(this.resource.devices);
    (dice.chance(0.5) ? this.#missing : this.#unhealthy).add(id);
    this.#report();
    return id;
  }

  findDevices(): void {
    this.#missing.clear();
    this.#unhealthy.clear();
    this.#report();
  }

  /** What an agent calls. */
  connect(): DevicePluginClient {
    const closed = new AbortController();
    return {
      getOptions: (signal) =>
        this.#ask(
          () => ({
            preStartRequired: this.resource.isCalledBeforeStart,
            getPreferredAllocationAvailable: true,
          }),
          signal,
        ),
      listAndWatch: (onDevices, signal) =>
        this.#follow(() => onDevices(this.#devices), AbortSignal.any([signal, closed.signal])),
      getPreferredAllocation: ({ containerRequests = [] }, signal) =>
        this.#ask(
          () => ({
            containerResponses: containerRequests.map((request) => {
              const { availableDeviceIDs = [], mustIncludeDeviceIDs = [] } = request;
              const others = availableDeviceIDs.filter((id) => !mustIncludeDeviceIDs.includes(id));
              const all = [...mustIncludeDeviceIDs, ...others.toReversed()];
              return { deviceIDs: all.slice(0, request.allocationSize) };
            }),
          }),
          signal,
        ),
      allocate: ({ containerRequests = [] }, signal) =>
        this.#ask(
          () => ({
            containerResponses: containerRequests.map(({ devicesIds = [] }) => ({
              devices: devicesIds.map((id) => {
                const path = `${devicePaths}${id}`;
                return { hostPath: path, containerPath: path, permissions: "rw" };
              }),
            })),
          }),
          signal,
        ),
      preStartContainer: async (_, signal) => {
        await this.#ask(() => undefined, signal);
      },
      close: () => closed.abort(),
    };
  }

  get #devices(): Parameters<Parameters<DevicePluginClient["listAndWatch"]>[0]>[0] {
    return this.resource.devices
      .filter(({ id }) => !this.#missing.has(id))
      .map(({ id, node }) => ({
        ID: id,
        health: this.#unhealthy.has(id) ? "Unhealthy" : "Healthy",
        ...(node === undefined ? {} : { topology: { nodes: [{ ID: BigInt(node) }] } }),
      }));
  }

  #report(): void {
    for (const report of this.#streams) report();
  }

  /** Until the caller has enough of it, or the plugin dies. */
  async #follow(report: () => void, signal: AbortSignal): Promise<void> {
    const { death } = this.process;
    const gone = new RuntimeError("ListAndWatch", "Unavailable", "error reading from server: EOF");
    if (death === undefined) throw gone;
    const either = AbortSignal.any([signal, death]);
    const { clock, dice } = this.#deps;
    await clock.sleep(dice.between(1, 40), either).catch(() => undefined);
    if (!either.aborted) {
      this.#streams.add(report);
      report();
      await new Promise<void>((resolve) => {
        either.addEventListener("abort", () => resolve(), { once: true });
      });
      this.#streams.delete(report);
    }
    if (!signal.aborted) throw gone;
  }

  #ask<T>(answer: () => T, signal: AbortSignal): Promise<T> {
    return this.process.send(() => this.process.mayFail(async () => answer()), signal);
  }
}
