import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type DbusMessage,
  decodeMessage,
  encodeMessage,
} from "../../src/drivers/systemd/dbus-message.ts";
import type { DbusValue } from "../../src/drivers/systemd/dbus-value.ts";

export const hasDbusDaemon: boolean = existsSync("/usr/bin/dbus-daemon");

/** A message bus of its own, on which anybody may be anything. */
export class PrivateBus {
  readonly folder: string = mkdtempSync(join(tmpdir(), "berth-bus-"));
  readonly path: string = join(this.folder, "bus");
  #daemon: ChildProcess | undefined;

  async start(): Promise<void> {
    const config = join(this.folder, "bus.conf");
    const policy = '<allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/>';
    writeFileSync(
      config,
      `<busconfig><type>system</type><listen>unix:path=${this.path}</listen><auth>EXTERNAL</auth>` +
        `<policy context="default">${policy}</policy></busconfig>`,
    );
    const daemon = spawn(
      "/usr/bin/dbus-daemon",
      [`--config-file=${config}`, "--nofork", "--print-address"],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    this.#daemon = daemon;
    await once(daemon.stdout, "data");
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon !== undefined) {
      const ended = once(daemon, "exit");
      daemon.kill();
      await ended;
    }
    rmSync(this.folder, { recursive: true });
  }
}

export interface BusReply {
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
  readonly errorName?: string;
}

/** A service on a bus that answers calls as configured. */
export class BusService {
  readonly calls: DbusMessage[] = [];
  readonly #socket: Socket;
  readonly #answer: (call: DbusMessage) => BusReply;
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;

  private constructor(socket: Socket, answer: (call: DbusMessage) => BusReply) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on("data", (data: Buffer) => this.#receive(data));
  }

  static async open(
    path: string,
    name: string,
    answer: (call: DbusMessage) => BusReply,
  ): Promise<BusService> {
    const socket = createConnection(path);
    const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString("hex");
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    await once(socket, "data");
    socket.write("BEGIN\r\n");
    const service = new BusService(socket, answer);
    service.#callBus("Hello", "", []);
    service.#callBus("RequestName", "su", [name, 0]);
    while (service.#serial > service.#replies) await once(socket, "data");
    return service;
  }

  #replies = 0;

  signal(path: string, member: string, signature: string, body: readonly DbusValue[]): void {
    const dot = member.lastIndexOf(".");
    this.#send({
      type: "signal",
      path,
      interface: member.slice(0, dot),
      member: member.slice(dot + 1),
      signature,
      body,
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #callBus(member: string, signature: string, body: readonly DbusValue[]): void {
    const destination = "org.freedesktop.DBus";
    this.#send({
      type: "call",
      destination,
      path: "/org/freedesktop/DBus",
      interface: destination,
      member,
      signature,
      body,
    });
  }

  #send(message: Omit<DbusMessage, "serial">): void {
    this.#serial += 1;
    this.#socket.write(encodeMessage({ ...message, serial: this.#serial }));
  }

  #receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    for (
      let found = decodeMessage(this.#received);
      found !== undefined;
      found = decodeMessage(this.#received)
    ) {
      this.#received = this.#received.subarray(found.bytes);
      if (found.message.type === "return") this.#replies += 1;
      if (found.message.type === "call") this.#reply(found.message);
    }
  }

  #reply(call: DbusMessage): void {
    this.calls.push(call);
    const { errorName, signature, body } = this.#answer(call);
    this.#send({
      type: errorName === undefined ? "return" : "error",
      replySerial: call.serial,
      destination: call.sender,
      errorName,
      signature,
      body,
    });
  }
}
