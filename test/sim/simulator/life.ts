import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import type { ApiClient } from "../../../src/ports/api-client.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { DevicePluginClient, DevicePlugins } from "../../../src/ports/device-plugins.ts";
import type { DraPlugins } from "../../../src/ports/dra-plugins.ts";
import type { PluginSockets } from "../../../src/ports/plugin-sockets.ts";
import type { RuntimeEvents } from "../../../src/ports/runtime-events.ts";
import type { CallBounds } from "./call-bounds.ts";
import { withMethods } from "./with-methods.ts";

/**
 * One life of the agent. When it is over, nothing that was asked of the world is answered any more, and nothing new is
 * done: as for a process that was killed.
 */
export class Life {
  #isOver = false;
  readonly #calls: CallBounds;
  readonly #beforeAnswer: () => void;

  /** `beforeAnswer` is called at every answer, which is where a life may end. */
  constructor(calls: CallBounds, beforeAnswer: () => void) {
    this.#calls = calls;
    this.#beforeAnswer = beforeAnswer;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
  }

  /** The world as this life sees it. */
  bind(ports: AgentPorts): AgentPorts {
    const { apiServer } = ports;
    return {
      ...ports,
      runtime: this.#bindObject(ports.runtime),
      eventSources: ports.eventSources.map((events) => this.#bindEvents(events)),
      hookHttp: this.#bindObject(ports.hookHttp),
      probeRunner: this.#bindObject(ports.probeRunner),
      podSources: ports.podSources.map((source) => ({
        name: source.name,
        run: (sink, signal) =>
          this.#answer(
            source.run(
              {
                deliver: (snapshot) => this.#whileAlive(() => sink.deliver(snapshot)),
                report: (problems) => this.#whileAlive(() => sink.report(problems)),
              },
              signal,
            ),
          ),
      })),
      apiServer: apiServer && { ...apiServer, api: this.#bindApi(apiServer.api) },
      clock: this.#bindClock(ports.clock),
      files: this.#bindObject(ports.files),
      payloadFiles: this.#bindObject(ports.payloadFiles),
      foreignFiles: this.#bindObject(ports.foreignFiles),
      mounts: this.#bindObject(ports.mounts),
      historyStore: this.#bindObject(ports.historyStore),
      hostCgroups: this.#bindObject(ports.hostCgroups),
      commands: this.#bindObject(ports.commands),
      devices: this.#bindObject(ports.devices),
      csiDrivers: {
        connect: (endpoint) => this.#bindObject(ports.csiDrivers.connect(endpoint)),
      },
      pluginSockets: this.#bindSockets(ports.pluginSockets),
      devicePlugins: this.#bindDevicePlugins(ports.devicePlugins),
      draPlugins: this.#bindDraPlugins(ports.draPlugins),
    };
  }

  #bindSockets(sockets: PluginSockets): PluginSockets {
    const bound = this.#bindObject(sockets);
    return {
      ...bound,
      connect: async (...args) => this.#bindObject(await bound.connect(...args)),
      watch: (folder, onChange) =>
        sockets.watch(folder, (name) => this.#whileAlive(() => onChange(name))),
    };
  }

  #bindDevicePlugins(plugins: DevicePlugins): DevicePlugins {
    return {
      serve: (socketPath, registration) =>
        this.#ask(() =>
          plugins.serve(socketPath, {
            register: (...args) => (this.#isOver ? never() : registration.register(...args)),
          }),
        ),
      connect: async (...args) =>
        this.#bindDevicePlugin(await this.#ask(() => plugins.connect(...args))),
    };
  }

  #bindDevicePlugin(client: DevicePluginClient): DevicePluginClient {
    return {
      ...this.#bindObject(client),
      listAndWatch: (onDevices, signal) =>
        this.#ask(() =>
          client.listAndWatch((devices) => this.#whileAlive(() => onDevices(devices)), signal),
        ),
    };
  }

  #bindDraPlugins(plugins: DraPlugins): DraPlugins {
    return {
      connect: (socketPath, service, onConnected) =>
        this.#bindObject(
          plugins.connect(socketPath, service, (isConnected) =>
            this.#whileAlive(() => onConnected(isConnected)),
          ),
        ),
    };
  }

  #bindClock(clock: Clock): Clock {
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      startTimer: (ms, onTime) => this.#startTimer(clock, ms, onTime),
      sleep: (ms, signal) => this.#answer(clock.sleep(ms, signal)),
    };
  }

  /** A life may also end where a timer is no longer needed, as it may where a sleep is. */
  #startTimer(clock: Clock, ms: number, onTime: () => void): ReturnType<Clock["startTimer"]> {
    let isSet = true;
    const timer = clock.startTimer(ms, () => {
      isSet = false;
      this.#whileAlive(onTime);
    });
    return {
      stop: () => {
        timer.stop();
        if (isSet) this.#mayAnswer();
        isSet = false;
      },
    };
  }

  #bindEvents(events: RuntimeEvents): RuntimeEvents {
    return {
      name: events.name,
      subscribe: (onSubscribed, onEvent, signal) =>
        this.#answer(
          events.subscribe(
            () => this.#whileAlive(onSubscribed),
            (event) => this.#whileAlive(() => onEvent(event)),
            signal,
          ),
        ),
    };
  }

  #bindApi(api: ApiClient): ApiClient {
    return {
      send: (request, signal) => this.#ask(() => api.send(request, signal)),
      watch: (request, onEvent, signal) =>
        this.#ask(() =>
          api.watch(request, (event) => this.#whileAlive(() => onEvent(event as never)), signal),
        ),
    };
  }

  /** Every method that answers later does so only while this life lasts. */
  #bindObject<T extends object>(target: T): T {
    return withMethods(target, (name, method) => (...args) => {
      if (this.#isOver) return never();
      const end = this.#calls.begin(name, args);
      let result: unknown;
      try {
        result = method(...args);
      } catch (error) {
        end();
        throw error;
      }
      if (result instanceof Promise) return this.#answer(result, end);
      end();
      return result;
    });
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    return this.#isOver ? never() : this.#answer(work());
  }

  #answer<T>(promise: Promise<T>, end?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.#mayAnswer(end) && resolve(value),
        (error: unknown) => this.#mayAnswer(end) && reject(error),
      );
    });
  }

  #whileAlive(work: () => void): void {
    if (this.#mayAnswer()) work();
  }

  #mayAnswer(end?: () => void): boolean {
    end?.();
    if (!this.#isOver) this.#beforeAnswer();
    return !this.#isOver;
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
