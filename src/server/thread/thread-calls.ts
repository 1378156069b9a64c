// Calls from one thread to another: a request, an answer or a failure, and an abort that goes with the caller's signal.
import type { MessagePort } from "node:worker_threads";
import { Semaphore } from "../../lib/semaphore.ts";
import { type CarriedError, carryError, reviveError } from "./carried-error.ts";

/** Functions that can be called from another thread: one argument of plain data, and a signal. */
export type ThreadCalls<Calls> = {
  readonly [Name in keyof Calls]: (asked: never, signal: AbortSignal) => Promise<unknown>;
};

type Request =
  | {
      readonly kind: "call";
      readonly id: number;
      readonly name: string;
      readonly asked: unknown;
    }
  | { readonly kind: "abort"; readonly id: number };

type Answer =
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly error: CarriedError };

/** Far more than a caller has in flight; one that has more is broken. */
const maxServedCalls = 1024;

/**
 * Serves calls that come over `port` until it closes, and then aborts those that are still carried out. Answers are
 * copied, except those of the calls that are `handedOver`.
 */
export function serveCalls<Calls extends ThreadCalls<Calls>>(
  port: MessagePort,
  calls: Calls,
  handedOver: readonly (keyof Calls)[],
): void {
  const running = new Map<number, AbortController>();
  const send = (answer: Answer, transferred: readonly ArrayBuffer[] = []): void => {
    try {
      port.postMessage(answer, transferred);
    } catch (error) {
      // A value that cannot be copied is a failure of its call alone.
      port.postMessage({ kind: "failure", id: answer.id, error: carryError(error) });
    }
  };
  const carryOut = async ({ id, name, asked }: Extract<Request, { kind: "call" }>) => {
    const aborted = new AbortController();
    const call = Object.hasOwn(calls, name) ? calls[name as keyof Calls] : undefined;
    if (running.size >= maxServedCalls || call === undefined) {
      const error = carryError(new Error(`the call ${name} cannot be served`));
      send({ kind: "failure", id, error });
      return;
    }
    running.set(id, aborted);
    try {
      const value = await call(asked as never, aborted.signal);
      const isBytes = value instanceof Uint8Array && value.buffer instanceof ArrayBuffer;
      const isHandedOver = isBytes && handedOver.includes(name as keyof Calls);
      send({ kind: "answer", id, value }, isHandedOver ? [value.buffer] : []);
    } catch (error) {
      send({ kind: "failure", id, error: carryError(error) });
    } finally {
      running.delete(id);
    }
  };
  port.on("message", (request: Request) => {
    if (request.kind === "abort") running.get(request.id)?.abort();
    else void carryOut(request);
  });
  port.on("close", () => {
    for (const aborted of running.values()) aborted.abort();
  });
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The calling end. */
export class ThreadCaller {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, Waiting>();
  readonly #room: Semaphore;
  #nextId = 1;

  constructor(port: MessagePort, maxInFlight: number) {
    this.#port = port;
    this.#room = new Semaphore(maxInFlight);
    port.on("message", (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.kind === "answer") waiting?.resolve(answer.value);
      else waiting?.reject(reviveError(answer.error));
    });
  }

  /** The functions of the other end; those in `unlimited` do not wait for others. */
  calls<Calls extends ThreadCalls<Calls>>(
    names: readonly (keyof Calls & string)[],
    unlimited: readonly (keyof Calls & string)[],
  ): Calls {
    const functions = names.map((name) => {
      const call = unlimited.includes(name)
        ? (asked: unknown, signal: AbortSignal) => this.#call(name, asked, signal)
        : (asked: unknown, signal: AbortSignal) => this.#callInTurn(name, asked, signal);
      return [name, call] as const;
    });
    // The names are those of the calls, and the other end answers by the same type.
    return Object.fromEntries(functions) as unknown as Calls;
  }

  async #callInTurn(name: string, asked: unknown, signal: AbortSignal): Promise<unknown> {
    const leave = await this.#room.enter(signal);
    try {
      return await this.#call(name, asked, signal);
    } finally {
      leave();
    }
  }

  #call(name: string, asked: unknown, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const id = this.#nextId++;
      const abandon = (): void => {
        this.#waiting.delete(id);
        this.#port.postMessage({ kind: "abort", id });
        reject(signal.reason);
      };
      const settled = (settle: (value: unknown) => void) => (value: unknown) => {
        signal.removeEventListener("abort", abandon);
        settle(value);
      };
      signal.addEventListener("abort", abandon, { once: true });
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      this.#port.postMessage({ kind: "call", id, name, asked });
    });
  }
}
