import type {
  OfferedPlugin,
  PluginHandler,
  PluginType,
} from "../../../src/engine/plugins/plugin-handler.ts";
import { PluginRegistry } from "../../../src/engine/plugins/plugin-registry.ts";
import { err, ok } from "../../../src/lib/result.ts";
import { type EncodedPlugin, MemoryPluginSockets } from "../../kit/memory-plugin-sockets.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Step =
  | { readonly op: "createSocket"; readonly path: string; readonly plugin: EncodedPlugin }
  | { readonly op: "removeSocket" | "createFile" | "mkdir"; readonly path: string }
  | { readonly op: "addHandler"; readonly handler: PluginType }
  | {
      readonly op: "setValidateError" | "setRegisterError";
      readonly name: string;
      readonly error?: string;
    }
  | { readonly op: "advance"; readonly milliseconds: number }
  | { readonly op: "reconcile" };

interface Input {
  readonly handlers: readonly PluginType[];
  readonly validateErrors?: Readonly<Record<string, string>>;
  readonly registerErrors?: Readonly<Record<string, string>>;
  readonly initial?: readonly Step[];
  readonly steps: readonly Step[];
}

interface Call {
  readonly handler: string;
  readonly method: string;
  readonly name: string;
  readonly endpoint: string;
  readonly versions?: readonly string[];
  readonly timeoutGiven?: boolean;
}

const folder = "/PLUGINS";

export const pluginRegistration: VectorDomain = vectorDomain<Input>(
  "plugin-registration",
  async (input) => {
    const world = new World(input);
    for (const step of input.initial ?? []) await world.act(step);
    await world.registry.watch.catchUp();
    const steps: unknown[] = [];
    for (const step of input.steps) {
      await world.act(step);
      await world.registry.watch.catchUp();
      steps.push(world.show());
    }
    return { steps };
  },
);

class World {
  readonly #sockets = new MemoryPluginSockets();
  readonly #clock = new VirtualClock();
  readonly #validateErrors: Map<string, string>;
  readonly #registerErrors: Map<string, string>;
  readonly registry: PluginRegistry;
  #calls: Call[] = [];

  constructor(input: Input) {
    this.#validateErrors = new Map(Object.entries(input.validateErrors ?? {}));
    this.#registerErrors = new Map(Object.entries(input.registerErrors ?? {}));
    this.registry = new PluginRegistry({
      sockets: this.#sockets,
      folder,
      clock: this.#clock,
      log: silentLog,
    });
    for (const type of input.handlers) this.registry.addHandler(type, this.#handler(type));
  }

  async act(step: Step): Promise<void> {
    switch (step.op) {
      case "createSocket":
        return this.#sockets.addSocket(`${folder}/${step.path}`, step.plugin);
      case "removeSocket":
        return this.#sockets.remove(`${folder}/${step.path}`);
      case "createFile":
        return this.#sockets.addFile(`${folder}/${step.path}`);
      case "mkdir":
        return this.#sockets.addFolder(`${folder}/${step.path}`);
      case "addHandler":
        return this.registry.addHandler(step.handler, this.#handler(step.handler));
      case "setValidateError":
        return setOrClear(this.#validateErrors, step.name, step.error);
      case "setRegisterError":
        return setOrClear(this.#registerErrors, step.name, step.error);
      case "advance":
        return await this.#clock.advance(step.milliseconds);
      case "reconcile":
        await this.registry.startDue(new AbortController().signal).done;
        await this.registry.startDue(new AbortController().signal).done;
    }
  }

  /** What happened since this was last asked, and how things stand. */
  show(): unknown {
    const relative = (path: string): string => path.slice(folder.length + 1);
    const counts: Record<string, number> = {};
    for (const path of this.#sockets.getInfoCalls.map(relative)) {
      counts[path] = (counts[path] ?? 0) + 1;
    }
    const shown = {
      calls: this.#calls.toSorted(byText(({ name, endpoint }) => `${name}\0${endpoint}`)),
      getInfoCalls: counts,
      notifications: this.#sockets.notifications
        .map(({ socketPath, status }) => ({ socket: relative(socketPath), ...status }))
        .toSorted(byText(({ socket }) => socket)),
      desired: [...this.registry.watch.sockets.keys()].toSorted(),
      registered: this.registry.plugins
        .map(({ socketPath: socket, name, endpoint }) => ({ socket, name, endpoint }))
        .toSorted(byText(({ socket }) => socket)),
    };
    this.#calls = [];
    this.#sockets.getInfoCalls = [];
    this.#sockets.notifications = [];
    return shown;
  }

  #handler(type: string): PluginHandler {
    const outcome = (error: string | undefined) =>
      error === undefined ? ok(undefined) : err(error);
    const call = (
      { name, endpoint }: Pick<OfferedPlugin, "name" | "endpoint">,
      method: string,
    ) => ({
      handler: type,
      method,
      name,
      endpoint,
    });
    return {
      validate: (plugin) => {
        const versions = plugin.supportedVersions;
        this.#calls.push({ ...call(plugin, "ValidatePlugin"), versions });
        return outcome(this.#validateErrors.get(plugin.name));
      },
      register: async (plugin) => {
        const versions = plugin.supportedVersions;
        this.#calls.push({ ...call(plugin, "RegisterPlugin"), versions, timeoutGiven: false });
        return outcome(this.#registerErrors.get(plugin.name));
      },
      deregister: async (plugin) => {
        this.#calls.push(call(plugin, "DeRegisterPlugin"));
      },
    };
  }
}

function setOrClear(map: Map<string, string>, name: string, error: string | undefined): void {
  if (error === undefined) map.delete(name);
  else map.set(name, error);
}

function byText<T>(key: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => {
    if (key(a) === key(b)) return 0;
    return key(a) < key(b) ? -1 : 1;
  };
}
