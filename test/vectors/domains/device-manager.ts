import {
  optionsProblem,
  registrationProblem,
  watchedPluginProblem,
} from "../../../src/core/devices/plugin/register-plugin.ts";
import { rpcError } from "../device-plugins.ts";
import { type DeviceManagerInput, DeviceWorld } from "../device-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface RegisterInput {
  readonly kind: "register";
  readonly via: "register" | "validate";
  readonly resourceName: string;
  readonly version?: string;
  readonly versions?: readonly string[];
  readonly optionsError?: string;
}

type Input = DeviceManagerInput | RegisterInput;

export const deviceManager: VectorDomain = vectorDomain<Input>(
  "device-manager",
  (input) => {
    if (input.kind === "register") return register(input);
    if (input.kind === "choice") return possibleChoices(input);
    const world = new DeviceWorld(input);
    const steps = input.steps.map((step) => world.run(step));
    return { steps, ...world.file() };
  },
  comparable,
);

function register({ via, resourceName, version = "", versions = [], optionsError }: RegisterInput) {
  const problem =
    via === "register"
      ? registrationProblem(version, resourceName)
      : watchedPluginProblem(resourceName, versions);
  if (problem !== undefined) return { error: problem };
  if (optionsError !== undefined) return { error: optionsProblem(rpcError(optionsError)) };
  return { endpointStored: via === "register" };
}

/**
 * Upstream chooses at random, Berth by name. Under other names other devices are chosen: over many namings these have to be all that
 * upstream ever chooses.
 */
function possibleChoices(input: DeviceManagerInput) {
  const ids = input.steps.flatMap((step) =>
    step.op === "devices" ? step.devices.map(({ id }) => id) : [],
  );
  const choices = namings(ids, 300).map((names) => {
    const world = new DeviceWorld(input, names);
    for (const step of input.steps) world.run(step);
    return world.allocated;
  });
  const [first = []] = choices;
  return {
    count: first.length,
    always: first.filter((id) => choices.every((choice) => choice.includes(id))).toSorted(),
    candidates: [...new Set(choices.flat())].toSorted(),
  };
}

/** Names for the devices that put them in another order each time; always the same ones. */
function namings(ids: readonly string[], count: number): Map<string, string>[] {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed;
  };
  return Array.from({ length: count }, () => {
    const order = ids.map((id) => ({ id, key: random() })).toSorted((a, b) => a.key - b.key);
    return new Map(order.map(({ id }, index) => [id, `n${String(index).padStart(3, "0")}-${id}`]));
  });
}

interface Expected {
  readonly steps?: readonly Record<string, unknown>[];
}

/** Comparisons hold no preference, which is null, and an empty list to be the same; texts of JSON errors are Go's. */
function comparable(value: unknown, input: Input): unknown {
  if (input.kind !== "manager") return value;
  const { steps = [], ...rest } = value as Expected;
  return { ...rest, checksumInput: undefined, steps: steps.map(comparableStep) };
}

function comparableStep(step: Record<string, unknown>): Record<string, unknown> {
  const { hints, readCheckpointError, error, admissionMessage } = step;
  const isJsonError =
    typeof readCheckpointError === "string" && readCheckpointError !== "checkpoint is corrupted";
  return {
    ...step,
    error: withoutEndpoint(error),
    admissionMessage: withoutEndpoint(admissionMessage),
    hints: Object.entries(hints ?? {}).map(([resource, list]: [string, unknown]) => [
      resource,
      list === null ? "no preference" : { list },
    ]),
    readCheckpointError: isJsonError ? "not JSON" : readCheckpointError,
  };
}

/** Upstream prints its whole endpoint there. */
function withoutEndpoint(text: unknown): unknown {
  return typeof text === "string"
    ? text.replace(/endpoint \S+ has been stopped/, "endpoint <endpoint> has been stopped")
    : text;
}
