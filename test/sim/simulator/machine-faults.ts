import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { HostFiles } from "../../../src/ports/host-files.ts";
import type { Dice } from "./dice.ts";
import { withMethods } from "./with-methods.ts";

const changingFiles = /^(ensure|write|symlink|remove|append|publish|make|change)/;
const changingMounts = /^(mount|unmount)/;
const changingCgroups = /^(create|remove)$/;

/** How long a disk takes that is slow: several rounds of housekeeping. */
const slowDiskMs = 4_000;

/** What goes wrong with files, mounts and cgroups: any change of them may fail, and then nothing has changed. */
export class MachineFaults {
  readonly #dice: Dice;
  readonly #clock: Clock;
  /** Whether the disk takes long to answer that a status is removed from it. */
  readonly #isSlow: boolean;
  /** How likely any change is to fail. */
  rate = 0;
  #hasLostStatus = false;

  constructor(dice: Dice, clock: Clock, isSlow: boolean) {
    this.#dice = dice;
    this.#clock = clock;
    this.#isSlow = isSlow;
  }

  /** Whether a status could not be written since this was asked last: the next agent may know less than was reported. */
  takeLostStatus(): boolean {
    const hasLost = this.#hasLostStatus;
    this.#hasLostStatus = false;
    return hasLost;
  }

  /** The machine as an agent meets it. */
  bind(ports: AgentPorts): AgentPorts {
    const { files, payloadFiles, foreignFiles, mounts, hostCgroups, commands } = ports;
    const faulty = this.#faulty(files, changingFiles);
    return {
      ...ports,
      files: this.#isSlow ? this.#slow(faulty) : faulty,
      payloadFiles: this.#faulty(payloadFiles, changingFiles),
      foreignFiles: this.#faulty(foreignFiles, changingFiles),
      mounts: this.#faulty(mounts, changingMounts),
      hostCgroups: this.#faulty(hostCgroups, changingCgroups),
      commands: this.#faulty(commands, /^run$/),
    };
  }

  #slow(files: HostFiles): HostFiles {
    return withMethods(files, (name, method) => {
      if (name !== "removeFile") return method;
      return async (...args) => {
        await method(...args);
        if (!String(args[0]).includes("/statuses/")) return;
        await this.#clock.sleep(slowDiskMs, new AbortController().signal);
      };
    });
  }

  #faulty<T extends object>(target: T, methods: RegExp): T {
    return withMethods(target, (name, method) => {
      if (!methods.test(name)) return method;
      return (...args) => {
        const path = String(args[0]);
        if (!this.#dice.chance(this.rate)) return method(...args);
        if (path.includes("/statuses/")) this.#hasLostStatus = true;
        return Promise.reject(new Error(`EIO: i/o error, ${name}`));
      };
    });
  }
}
