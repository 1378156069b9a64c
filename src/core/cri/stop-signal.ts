import { Signal } from "../../model/generated/cri.ts";

const signals: ReadonlyMap<string, Signal> = new Map(
  Object.entries(Signal).map(([name, signal]) => [
    name.replace("PLUS", "+").replace("MINUS", "-"),
    signal,
  ]),
);

const names: ReadonlyMap<Signal, string> = new Map(
  [...signals].map(([name, signal]) => [signal, name]),
);

/** The name of the signal that the runtime reports; undefined when it reports none. */
export function stopSignalName(signal: Signal = Signal.RUNTIME_DEFAULT): string | undefined {
  return signal === Signal.RUNTIME_DEFAULT ? undefined : names.get(signal);
}

/** The runtime's number of a signal like "SIGTERM" or "SIGRTMIN+3". */
export function stopSignal(name: string): Signal {
  return signals.get(name) ?? Signal.RUNTIME_DEFAULT;
}
