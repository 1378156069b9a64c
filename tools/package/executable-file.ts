// Puts data into Node's own program, where Node looks for that of a single executable application.
// The program is an ELF file that is loaded at fixed addresses. Its last segment is data, and ends with memory that is zero and not in the file: that is
// written out, and the data follows. Program headers cannot be added, as code follows them; the note with the build's ID gives its header up.

/** Written into Node at one place: "1" behind it means that there is data. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";
const noteName = "NODE_SEA_BLOB\0";
const noteHeaderBytes = 12;
const noteAlignment = 4;
const pageBytes = 4096n;

const magic = "\x7fELF\x02\x01";
const fileHeader = {
  programHeaders: 32,
  sections: 40,
  headerSize: 54,
  headers: 56,
  sectionFields: 58,
};
const sectionFieldBytes = 6;
const segmentKinds = { load: 1, note: 4 };
const segmentFields = { offset: 8, address: 16, physical: 24, fileBytes: 32, memoryBytes: 40 };

interface Segment {
  readonly kind: number;
  /** Where its header is in the file. */
  readonly at: number;
  readonly offset: bigint;
  readonly address: bigint;
  readonly fileBytes: bigint;
  readonly memoryBytes: bigint;
}

/** The program with the data; debugging information and the names of sections are left out. */
export function embedData(node: Uint8Array, data: Uint8Array): Buffer {
  const program = Buffer.from(node);
  const segments = readSegments(program);
  const last = segments
    .filter(({ kind }) => kind === segmentKinds.load)
    .reduce((highest, next) => (next.address > highest.address ? next : highest));
  const note = segments.find(({ kind }) => kind === segmentKinds.note);
  if (note === undefined) throw new Error("this Node has no note whose program header can be used");
  const zeros = Buffer.alloc(Number(roundUp(last.memoryBytes, pageBytes) - last.fileBytes));
  const content = noteWith(data);
  const noteOffset = last.offset + last.fileBytes + BigInt(zeros.length);
  const noteAddress = last.address + (noteOffset - last.offset);
  const wholeBytes = noteOffset - last.offset + BigInt(content.length);
  writeSegment(program, last.at, { ...last, fileBytes: wholeBytes, memoryBytes: wholeBytes });
  writeSegment(program, note.at, {
    offset: noteOffset,
    address: noteAddress,
    fileBytes: BigInt(content.length),
    memoryBytes: BigInt(content.length),
  });
  // The table of sections lies behind the last segment, where the data is now.
  program.writeBigUInt64LE(0n, fileHeader.sections);
  program.fill(0, fileHeader.sectionFields, fileHeader.sectionFields + sectionFieldBytes);
  burnFuse(program);
  const kept = program.subarray(0, Number(last.offset + last.fileBytes));
  return Buffer.concat([kept, zeros, content]);
}

function readSegments(program: Buffer): readonly Segment[] {
  if (program.toString("latin1", 0, magic.length) !== magic) {
    throw new Error("this Node is not an ELF program of 64 bits, lowest byte first");
  }
  const table = Number(program.readBigUInt64LE(fileHeader.programHeaders));
  const size = program.readUInt16LE(fileHeader.headerSize);
  return Array.from({ length: program.readUInt16LE(fileHeader.headers) }, (_, index) => {
    const at = table + index * size;
    return {
      kind: program.readUInt32LE(at),
      at,
      offset: program.readBigUInt64LE(at + segmentFields.offset),
      address: program.readBigUInt64LE(at + segmentFields.address),
      fileBytes: program.readBigUInt64LE(at + segmentFields.fileBytes),
      memoryBytes: program.readBigUInt64LE(at + segmentFields.memoryBytes),
    };
  });
}

function writeSegment(program: Buffer, at: number, segment: Omit<Segment, "kind" | "at">): void {
  program.writeBigUInt64LE(segment.offset, at + segmentFields.offset);
  program.writeBigUInt64LE(segment.address, at + segmentFields.address);
  program.writeBigUInt64LE(segment.address, at + segmentFields.physical);
  program.writeBigUInt64LE(segment.fileBytes, at + segmentFields.fileBytes);
  program.writeBigUInt64LE(segment.memoryBytes, at + segmentFields.memoryBytes);
}

function noteWith(data: Uint8Array): Buffer {
  const name = Buffer.alloc(aligned(noteName.length));
  name.write(noteName, "latin1");
  const header = Buffer.alloc(noteHeaderBytes);
  header.writeUInt32LE(noteName.length, 0);
  header.writeUInt32LE(data.length, noteAlignment);
  return Buffer.concat([header, name, data, Buffer.alloc(aligned(data.length) - data.length)]);
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / noteAlignment) * noteAlignment;
}

function roundUp(bytes: bigint, unit: bigint): bigint {
  return ((bytes + unit - 1n) / unit) * unit;
}

function burnFuse(program: Buffer): void {
  const at = program.indexOf(fuse);
  if (at < 0 || program.indexOf(fuse, at + 1) >= 0) {
    throw new Error("this Node was built without single executable applications");
  }
  program.write("1", at + fuse.length, "latin1");
}
