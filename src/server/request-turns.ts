import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** So many requests may come behind one that is not answered yet; no client of the kubelet sends any. */
const maxWaiting = 8;

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Line<T> {
  /** The requests behind the one that is answered. */
  readonly waiting: T[];
  isPaused: boolean;
}

/** Answers one request of a connection at a time. While others wait, nothing more is read from it. */
export class RequestTurns<T extends Turn> {
  readonly #answer: (turn: T) => Promise<void>;
  readonly #onBusy: (socket: Socket, isBusy: boolean) => void;
  readonly #lines = new WeakMap<Socket, Line<T>>();

  constructor(
    answer: (turn: T) => Promise<void>,
    onBusy: (socket: Socket, isBusy: boolean) => void,
  ) {
    this.#answer = answer;
    this.#onBusy = onBusy;
  }

  isBusy(socket: Socket): boolean {
    return this.#lines.has(socket);
  }

  take(turn: T): void {
    const { socket } = turn.request;
    const line = this.#lines.get(socket);
    if (line === undefined) {
      const own = { waiting: [], isPaused: false };
      this.#lines.set(socket, own);
      this.#onBusy(socket, true);
      void this.#run(socket, own, turn);
    } else if (line.waiting.length < maxWaiting) {
      line.waiting.push(turn);
      line.isPaused = true;
      socket.pause();
    } else {
      socket.destroy();
    }
  }

  async #run(socket: Socket, line: Line<T>, first: T): Promise<void> {
    for (let turn: T | undefined = first; turn !== undefined; turn = line.waiting.shift()) {
      const { response } = turn;
      const closed = new Promise<void>((resolve) => response.once("close", resolve));
      await this.#answer(turn);
      await closed;
      if (socket.destroyed) return;
    }
    this.#lines.delete(socket);
    this.#onBusy(socket, false);
    if (line.isPaused) socket.resume();
  }
}
