// Who is connected. Those who were allowed something are never pushed out by those who were not.
import type { Socket } from "node:net";

export interface ConnectionLimits {
  /** Connections without an authorized request yet. */
  readonly maxStrangers: number;
  readonly maxStrangersPerAddress: number;
}

interface Entry {
  readonly socket: Socket;
  readonly address: string;
  isStranger: boolean;
  isBusy: boolean;
}

/** Lets the longest idle strangers give way to newcomers, first those of the address that has the most. */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  /** By address and port of the other end, in the order in which they came. */
  readonly #entries = new Map<string, Entry>();
  readonly #strangers = new Map<string, number>();
  #strangerCount = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A connection was made; over TLS that is the one below it. */
  add(socket: Socket): void {
    const { remoteAddress: address } = socket;
    // It ended before it was registered.
    if (address === undefined) return;
    if ((this.#strangers.get(address) ?? 0) >= this.#limits.maxStrangersPerAddress) {
      this.#evict(address);
    } else if (this.#strangerCount >= this.#limits.maxStrangers) {
      this.#evict(this.#busiestAddress());
    }
    const key = keyOf(socket);
    const entry = { socket, address, isStranger: true, isBusy: false };
    this.#entries.set(key, entry);
    this.#count(address, 1);
    socket.once("close", () => {
      if (this.#entries.get(key) === entry) this.#remove(key, entry);
    });
  }

  /** Whether a request is under way over a connection. */
  setBusy(socket: Socket, isBusy: boolean): void {
    const entry = this.#entries.get(keyOf(socket));
    if (entry !== undefined) entry.isBusy = isBusy;
  }

  /** A request over the connection was authorized. */
  setKnown(socket: Socket): void {
    const entry = this.#entries.get(keyOf(socket));
    if (entry?.isStranger !== true) return;
    entry.isStranger = false;
    this.#count(entry.address, -1);
  }

  isStranger(socket: Socket): boolean {
    return this.#entries.get(keyOf(socket))?.isStranger ?? true;
  }

  #evict(address: string): void {
    let oldest: [string, Entry] | undefined;
    for (const [key, entry] of this.#entries) {
      if (!entry.isStranger || entry.address !== address) continue;
      oldest ??= [key, entry];
      if (entry.isBusy) continue;
      oldest = [key, entry];
      break;
    }
    if (oldest === undefined) return;
    this.#remove(...oldest);
    oldest[1].socket.destroy();
  }

  #busiestAddress(): string {
    let busiest = "";
    let most = 0;
    for (const [address, count] of this.#strangers) {
      if (count <= most) continue;
      most = count;
      busiest = address;
    }
    return busiest;
  }

  #remove(key: string, { isStranger, address }: Entry): void {
    this.#entries.delete(key);
    if (isStranger) this.#count(address, -1);
  }

  #count(address: string, change: 1 | -1): void {
    const count = (this.#strangers.get(address) ?? 0) + change;
    this.#strangerCount += change;
    if (count > 0) this.#strangers.set(address, count);
    else this.#strangers.delete(address);
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
