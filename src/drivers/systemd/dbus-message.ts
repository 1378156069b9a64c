import { DbusReader, type DbusValue, DbusWriter } from "./dbus-value.ts";

export interface DbusMessage {
  readonly type: "call" | "return" | "error" | "signal";
  readonly serial: number;
  readonly path?: string | undefined;
  readonly interface?: string | undefined;
  readonly member?: string | undefined;
  readonly errorName?: string | undefined;
  readonly replySerial?: number | undefined;
  readonly destination?: string | undefined;
  readonly sender?: string | undefined;
  readonly signature?: string | undefined;
  readonly body?: readonly DbusValue[] | undefined;
}

const types = ["call", "return", "error", "signal"] as const;
const littleEndian = "l".charCodeAt(0);
const protocolVersion = 1;
const fixedBytes = 16;
/** Larger than anything that systemd sends. */
const maxMessageBytes = 1 << 24;

type TextField =
  | "path"
  | "interface"
  | "member"
  | "errorName"
  | "destination"
  | "sender"
  | "signature";

const textFields: ReadonlyMap<number, TextField> = new Map([
  [1, "path"],
  [2, "interface"],
  [3, "member"],
  [4, "errorName"],
  [6, "destination"],
  [7, "sender"],
  [8, "signature"],
]);
const replySerialField = 5;

export function encodeMessage(message: DbusMessage): Buffer {
  const { signature = "", body = [] } = message;
  const content = new DbusWriter();
  content.writeAll(signature, body);
  const header = new DbusWriter();
  header.writeAll("yyyyuua(yv)", [
    littleEndian,
    types.indexOf(message.type) + 1,
    0,
    protocolVersion,
    content.bytes.length,
    message.serial,
    headerFields(message),
  ]);
  header.align(8);
  return Buffer.concat([header.bytes, content.bytes]);
}

function headerFields(message: DbusMessage): DbusValue[] {
  const fields: DbusValue[] = [];
  for (const [code, name] of textFields) {
    const value = message[name];
    if (value === undefined || value === "") continue;
    const type = name === "path" ? "o" : name === "signature" ? "g" : "s";
    fields.push([code, { signature: type, value }]);
  }
  const { replySerial } = message;
  if (replySerial !== undefined) {
    fields.push([replySerialField, { signature: "u", value: replySerial }]);
  }
  return fields;
}

/** The first message of what was received, and how many bytes it took; undefined until it is complete. */
export function decodeMessage(
  buffer: Buffer,
): { readonly message: DbusMessage; readonly bytes: number } | undefined {
  if (buffer.length < fixedBytes) return undefined;
  const isLittle = buffer[0] === littleEndian;
  const sizes = new DbusReader(buffer, isLittle, 4).readAll("uuu");
  const [bodyBytes = 0, serial = 0, fieldBytes = 0] = sizes.map(Number);
  const headerBytes = Math.ceil((fixedBytes + fieldBytes) / 8) * 8;
  const bytes = headerBytes + bodyBytes;
  if (bytes > maxMessageBytes) throw new Error("a D-Bus message is too large");
  if (buffer.length < bytes) return undefined;
  const type = types[(buffer[1] ?? 0) - 1];
  if (type === undefined) throw new Error(`D-Bus message type ${buffer[1]} is not known`);
  const fields = readFields(new DbusReader(buffer.subarray(0, headerBytes), isLittle, 12));
  // Alignment counts from the start of the body, which starts at a boundary of 8.
  const body = new DbusReader(buffer.subarray(headerBytes, bytes), isLittle);
  return {
    message: { type, serial, ...fields, body: body.readAll(fields.signature ?? "") },
    bytes,
  };
}

function readFields(reader: DbusReader): Partial<DbusMessage> {
  const found: { -readonly [name in TextField | "replySerial"]?: DbusMessage[name] } = {};
  const [list] = reader.readAll("a(yv)");
  for (const field of Array.isArray(list) ? list : []) {
    const [code, variant] = Array.isArray(field) ? field : [];
    const value = isVariant(variant) ? variant.value : undefined;
    const name = textFields.get(Number(code));
    if (name !== undefined && typeof value === "string") found[name] = value;
    if (code === replySerialField && typeof value === "number") found.replySerial = value;
  }
  return found;
}

function isVariant(value: unknown): value is { readonly value: DbusValue } {
  return typeof value === "object" && value !== null && "signature" in value;
}
