import { alignmentOf, splitSignature } from "./dbus-signature.ts";

/**
 * A D-Bus value: numbers and texts by their type, 64 bits as bigint, arrays and structures as arrays, the entries of
 * a dictionary as pairs, and a variant with the signature of what it holds.
 */
export type DbusValue = number | bigint | boolean | string | DbusVariant | readonly DbusValue[];

export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

/** Larger than any message between an agent and the system's own services. */
const maxBytes = 1 << 20;

/** Lays out values in little-endian order. */
export class DbusWriter {
  #buffer: Buffer = Buffer.alloc(512);
  #length = 0;

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  align(boundary: number): void {
    const padding = (boundary - (this.#length % boundary)) % boundary;
    this.#reserve(padding);
    this.#length += padding;
  }

  writeAll(signature: string, values: readonly DbusValue[]): void {
    for (const [index, type] of splitSignature(signature).entries()) {
      const value = values[index];
      if (value === undefined) throw new Error(`D-Bus value ${index} of ${signature} is missing`);
      this.#write(type, value);
    }
  }

  #write(type: string, value: DbusValue): void {
    this.align(alignmentOf(type));
    switch (type[0]) {
      case "y":
        return this.#put(1, (at) => this.#buffer.writeUInt8(numberOf(type, value), at));
      case "b":
        return this.#put(4, (at) => this.#buffer.writeUInt32LE(value === true ? 1 : 0, at));
      case "i":
        return this.#put(4, (at) => this.#buffer.writeInt32LE(numberOf(type, value), at));
      case "u":
        return this.#put(4, (at) => this.#buffer.writeUInt32LE(numberOf(type, value), at));
      case "t":
        return this.#put(8, (at) => this.#buffer.writeBigUInt64LE(bigOf(type, value), at));
      case "s":
      case "o":
        return this.#putText(textOf(type, value), 4);
      case "g":
        return this.#putText(textOf(type, value), 1);
      case "v":
        return this.#writeVariant(value);
      case "a":
        return this.#writeArray(type.slice(1), listOf(type, value));
      case "(":
      case "{":
        return this.writeAll(type.slice(1, -1), listOf(type, value));
      default:
        throw new Error(`D-Bus type ${type} is not supported`);
    }
  }

  #writeVariant(value: DbusValue): void {
    if (typeof value !== "object" || !("signature" in value)) {
      throw new Error("a D-Bus variant names its type");
    }
    this.#write("g", value.signature);
    this.#write(value.signature, value.value);
  }

  #writeArray(elementType: string, values: readonly DbusValue[]): void {
    const lengthAt = this.#length;
    this.#put(4, (at) => this.#buffer.writeUInt32LE(0, at));
    // The padding before the first element does not count, and is there even without one.
    this.align(alignmentOf(elementType));
    const start = this.#length;
    for (const value of values) this.#write(elementType, value);
    this.#buffer.writeUInt32LE(this.#length - start, lengthAt);
  }

  #putText(text: string, lengthBytes: 1 | 4): void {
    const bytes = Buffer.byteLength(text);
    this.#put(lengthBytes, (at) => this.#buffer.writeUIntLE(bytes, at, lengthBytes));
    this.#put(bytes + 1, (at) => this.#buffer.write(text, at));
  }

  #put(bytes: number, write: (at: number) => void): void {
    this.#reserve(bytes);
    write(this.#length);
    this.#length += bytes;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    if (needed > maxBytes) throw new Error("a D-Bus message is too large");
    const larger = Buffer.alloc(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}

/** Reads what the other side laid out. */
export class DbusReader {
  readonly #buffer: Buffer;
  readonly #isLittle: boolean;
  #at: number;

  constructor(buffer: Buffer, isLittle: boolean, at = 0) {
    this.#buffer = buffer;
    this.#isLittle = isLittle;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  align(boundary: number): void {
    this.#at += (boundary - (this.#at % boundary)) % boundary;
  }

  readAll(signature: string): readonly DbusValue[] {
    return splitSignature(signature).map((type) => this.#read(type));
  }

  #read(type: string): DbusValue {
    this.align(alignmentOf(type));
    switch (type[0]) {
      case "y":
        return this.#take(1).readUInt8();
      case "b":
        return this.#uint32() !== 0;
      case "n":
        return this.#isLittle ? this.#take(2).readInt16LE() : this.#take(2).readInt16BE();
      case "q":
        return this.#isLittle ? this.#take(2).readUInt16LE() : this.#take(2).readUInt16BE();
      case "i":
        return this.#isLittle ? this.#take(4).readInt32LE() : this.#take(4).readInt32BE();
      case "u":
      case "h":
        return this.#uint32();
      case "x":
        return this.#isLittle ? this.#take(8).readBigInt64LE() : this.#take(8).readBigInt64BE();
      case "t":
        return this.#isLittle ? this.#take(8).readBigUInt64LE() : this.#take(8).readBigUInt64BE();
      case "d":
        return this.#isLittle ? this.#take(8).readDoubleLE() : this.#take(8).readDoubleBE();
      case "s":
      case "o":
        return this.#text(this.#uint32());
      case "g":
        return this.#text(this.#take(1).readUInt8());
      case "v":
        return this.#readVariant();
      case "a":
        return this.#readArray(type.slice(1));
      case "(":
      case "{":
        return this.readAll(type.slice(1, -1));
      default:
        throw new Error(`D-Bus type ${type} is not supported`);
    }
  }

  #readVariant(): DbusVariant {
    const signature = this.#text(this.#take(1).readUInt8());
    return { signature, value: this.#read(signature) };
  }

  #readArray(elementType: string): readonly DbusValue[] {
    const bytes = this.#uint32();
    this.align(alignmentOf(elementType));
    const end = this.#at + bytes;
    const values: DbusValue[] = [];
    while (this.#at < end) values.push(this.#read(elementType));
    return values;
  }

  #uint32(): number {
    return this.#isLittle ? this.#take(4).readUInt32LE() : this.#take(4).readUInt32BE();
  }

  #text(bytes: number): string {
    return this.#take(bytes + 1).toString("utf8", 0, bytes);
  }

  #take(bytes: number): Buffer {
    const end = this.#at + bytes;
    if (end > this.#buffer.length) throw new Error("a D-Bus message ends too soon");
    const taken = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

function numberOf(type: string, value: DbusValue): number {
  if (typeof value === "number") return value;
  throw wrongValue(type);
}

function bigOf(type: string, value: DbusValue): bigint {
  if (typeof value === "bigint") return value;
  throw wrongValue(type);
}

function textOf(type: string, value: DbusValue): string {
  if (typeof value === "string") return value;
  throw wrongValue(type);
}

function listOf(type: string, value: DbusValue): readonly DbusValue[] {
  if (Array.isArray(value)) return value;
  throw wrongValue(type);
}

function wrongValue(type: string): Error {
  return new Error(`a D-Bus value does not have the type ${type}`);
}
