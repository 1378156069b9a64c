import { createConnection, type Socket } from "node:net";
import { startTimer } from "../../lib/timers.ts";
import { type DbusMessage, decodeMessage, encodeMessage } from "./dbus-message.ts";
import type { DbusValue } from "./dbus-value.ts";

export interface DbusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** A call that the other side refused. */
export class DbusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message === "" ? errorName : message);
    this.name = "DbusError";
    this.errorName = errorName;
  }
}

interface Waiting {
  readonly resolve: (body: readonly DbusValue[]) => void;
  readonly reject: (error: Error) => void;
}

const bus = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};
const callTimeoutMs = 30_000;

/** Where the machine's own services are found, unless the environment says otherwise. */
function systemBusPath(): string {
  const address = process.env["DBUS_SYSTEM_BUS_ADDRESS"] ?? "";
  return /^unix:path=([^,;]+)/.exec(address)?.[1] ?? "/run/dbus/system_bus_socket";
}

/** A connection to a message bus, as the user that the agent runs as. */
export class DbusConnection {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(signal: DbusMessage) => void>();
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;
  readonly #closed: Promise<Error>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (data: Buffer) => this.#receive(data));
    this.#closed = new Promise((resolve) => {
      socket.on("error", (error) => resolve(error));
      socket.on("close", () => resolve(new Error("the message bus closed the connection")));
    });
    void this.#closed.then((error) => this.#fail(error));
  }

  static async open(path: string = systemBusPath()): Promise<DbusConnection> {
    const socket = createConnection(path);
    await logIn(socket, path);
    const connection = new DbusConnection(socket);
    try {
      await connection.call({ ...bus, member: "Hello" });
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  /** Resolves with the reason when the connection ends. */
  get closed(): Promise<Error> {
    return this.#closed;
  }

  async call(call: DbusCall): Promise<readonly DbusValue[]> {
    const serial = this.#nextSerial();
    const answer = new Promise<readonly DbusValue[]>((resolve, reject) => {
      this.#waiting.set(serial, { resolve, reject });
    });
    const giveUp = (): void =>
      this.#settle(serial)?.reject(new Error(`${call.destination} does not answer ${call.member}`));
    const timer = startTimer(callTimeoutMs, giveUp, { keepsAlive: false });
    this.#socket.write(encodeMessage({ type: "call", serial, ...call }));
    try {
      return await answer;
    } finally {
      timer.stop();
    }
  }

  /** Hands on signals that match the rule, until the connection ends. */
  async listen(rule: string, onSignal: (signal: DbusMessage) => void): Promise<void> {
    this.#listeners.add(onSignal);
    await this.call({ ...bus, member: "AddMatch", signature: "s", body: [rule] });
  }

  close(): void {
    this.#socket.destroy();
  }

  #nextSerial(): number {
    this.#serial += 1;
    return this.#serial;
  }

  #receive(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    try {
      for (
        let found = decodeMessage(this.#received);
        found !== undefined;
        found = decodeMessage(this.#received)
      ) {
        this.#received = this.#received.subarray(found.bytes);
        this.#handle(found.message);
      }
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #handle(message: DbusMessage): void {
    const { type, replySerial = 0, body = [] } = message;
    if (type === "signal") {
      for (const listener of this.#listeners) listener(message);
    } else if (type === "return") {
      this.#settle(replySerial)?.resolve(body);
    } else if (type === "error") {
      const [text] = body;
      const reason = typeof text === "string" ? text : "";
      this.#settle(replySerial)?.reject(new DbusError(message.errorName ?? "", reason));
    }
  }

  #settle(serial: number): Waiting | undefined {
    const waiting = this.#waiting.get(serial);
    this.#waiting.delete(serial);
    return waiting;
  }

  #fail(error: Error): void {
    for (const serial of this.#waiting.keys()) this.#settle(serial)?.reject(error);
  }
}

/** Says who we are; the kernel vouches for it. */
async function logIn(socket: Socket, path: string): Promise<void> {
  const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString("hex");
  const answer = await new Promise<string>((resolve, reject) => {
    let received = "";
    const onData = (data: Buffer): void => {
      received += data.toString("latin1");
      if (!received.includes("\r\n")) return;
      socket.off("data", onData);
      resolve(received);
    };
    socket.on("data", onData);
    socket.once("error", reject);
    socket.once("close", () =>
      reject(new Error(`the message bus at ${path} closed the connection`)),
    );
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
  if (!answer.startsWith("OK")) {
    socket.destroy();
    throw new Error(`the message bus at ${path} does not let the agent in: ${answer.trim()}`);
  }
  socket.write("BEGIN\r\n");
}
