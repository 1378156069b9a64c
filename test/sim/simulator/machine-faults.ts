import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import type { Dice } from "./dice.ts";

const changingFiles = /^(ensure|write|symlink|remove|append|publish|make|change)/;
const changingMounts = /^(mount|unmount)/;
const changingCgroups = /^(create|remove)$/;

/** What goes wrong with files, mounts and cgroups: any change of them may fail, and then nothing has changed. */
export class MachineFaults {
  readonly #dice: Dice;
  /** How likely any change is to fail. */
  rate = 0;
  #hasLostStatus = false;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Whether a status could not be written since this was asked last: the next agent may know less than was told. */
  takeLostStatus(): boolean {
    const hasLost = this.#hasLostStatus;
    this.#hasLostStatus = false;
    return hasLost;
  }

  /** The machine as an agent meets it. */
  bind(ports: AgentPorts): AgentPorts {
    const { files, payloadFiles, foreignFiles, mounts, cgroups } = ports;
    return {
      ...ports,
      files: this.#faulty(files, changingFiles),
      payloadFiles: this.#faulty(payloadFiles, changingFiles),
      foreignFiles: this.#faulty(foreignFiles, changingFiles),
      mounts: this.#faulty(mounts, changingMounts),
      cgroups: this.#faulty(cgroups, changingCgroups),
    };
  }

  #faulty<T extends object>(target: T, methods: RegExp): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== "function") return value;
        if (!methods.test(String(name))) return value.bind(object);
        return (...args: unknown[]): unknown => {
          const path = String(args[0]);
          if (!this.#dice.chance(this.rate)) return Reflect.apply(value, object, args);
          if (path.includes("/statuses/")) this.#hasLostStatus = true;
          return Promise.reject(new Error(`EIO: i/o error, ${String(name)}`));
        };
      },
    });
  }
}
