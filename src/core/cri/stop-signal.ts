import { Signal } from "../../model/generated/cri.ts";

const signals: ReadonlyMap<string, Signal> = new Map(
  Object.entries(Signal).map(([name, signal]) => [
    name.replace("PLUS", "+").replace("MINUS", "-"),
    signal,
  ]),
);

/** The runtime's number of a signal like "SIGTERM" or "SIGRTMIN+3". */
export function stopSignal(name: string): Signal {
  return signals.get(name) ?? Signal.RUNTIME_DEFAULT;
}
