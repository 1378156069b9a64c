import { assert } from "../../lib/assert.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import type { KubeletFlag } from "../generated/kubelet-flags.ts";
import { readFlagValue, showFlagValue } from "./flag-types.ts";

type Fields = Readonly<Record<string, unknown>>;

// An empty value takes these flags off the field that they set: it keeps what it has.
const detachable: Readonly<Record<string, string>> = {
  ip: "the string pointer passed into IPVar should not be nil",
  "reserved-memory": "no target (nil pointer to *[]MemoryReservation)",
};

/** Owns the values of one reading of a command line, over a configuration that flags write into. */
export class FlagSet {
  #config: KubeletConfiguration;
  readonly #own = new Map<string, unknown>();
  readonly #changed = new Map<string, KubeletFlag>();
  readonly #detached = new Set<string>();

  constructor(config: KubeletConfiguration) {
    this.#config = config;
  }

  get config(): KubeletConfiguration {
    return this.#config;
  }

  /** Every flag that was given, by its name, with its final value as text. */
  get settings(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#changed].map(([name, flag]) => [
        name,
        this.#detached.has(name) ? "" : showFlagValue(flag, this.#read(flag)),
      ]),
    );
  }

  /** Takes one occurrence of a flag; answers why it cannot be. */
  set(flag: KubeletFlag, text: string): string | undefined {
    const { name } = flag;
    const lost = Object.hasOwn(detachable, flag.type) ? detachable[flag.type] : undefined;
    if (this.#detached.has(name) && (text !== "" || flag.type === "reserved-memory")) return lost;
    if (lost !== undefined && text === "") {
      this.#detached.add(name);
      this.#changed.set(name, flag);
      return undefined;
    }
    const value = readFlagValue(flag, text, this.#read(flag), !this.#changed.has(name));
    if (!value.ok) return value.error;
    this.#write(flag, value.value);
    this.#changed.set(name, flag);
    return undefined;
  }

  #read({ name, field }: KubeletFlag): unknown {
    return field === undefined
      ? this.#own.get(name)
      : fieldOf({ ...this.#config }, field.split("."));
  }

  #write({ name, field }: KubeletFlag, value: unknown): void {
    if (field === undefined) this.#own.set(name, value);
    else this.#config = withField(this.#config, field, value);
  }
}

/** The configuration with the field at a path ("logging.format") replaced. */
function withField(
  config: KubeletConfiguration,
  path: string,
  value: unknown,
): KubeletConfiguration {
  // The table of flags gives each field a value of its own type.
  return replaced({ ...config }, path.split("."), value) as unknown as KubeletConfiguration;
}

function fieldOf(fields: Fields, [name = "", ...rest]: readonly string[]): unknown {
  const value = fields[name];
  return rest.length === 0 ? value : fieldOf(value as Fields, rest);
}

function replaced(fields: Fields, [name = "", ...rest]: readonly string[], value: unknown): Fields {
  assert(name in fields, `there is no field ${name}`);
  const next = rest.length === 0 ? value : replaced(fields[name] as Fields, rest, value);
  return { ...fields, [name]: next };
}
