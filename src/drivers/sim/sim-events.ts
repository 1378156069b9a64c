import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";

type Listener = (event: RuntimeEvent) => void;

/** The event stream of the simulated runtime. */
export class SimEvents implements RuntimeEvents {
  readonly name = "cri";
  readonly #subscribers = new Map<Listener, (error: Error) => void>();

  async subscribe(onSubscribed: () => void, onEvent: Listener, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        this.#subscribers.delete(onEvent);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      this.#subscribers.set(onEvent, (error) => {
        this.#subscribers.delete(onEvent);
        signal.removeEventListener("abort", end);
        reject(error);
      });
      onSubscribed();
    });
  }

  emit(event: RuntimeEvent): void {
    for (const onEvent of this.#subscribers.keys()) onEvent(event);
  }

  /** Every stream ends, as when the runtime goes away. */
  cut(): void {
    for (const fail of this.#subscribers.values()) fail(new Error("the stream ended"));
  }
}
