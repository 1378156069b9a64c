const BLOCK_BYTES = 512;
const TYPE_FLAGS = { file: "0", link: "2", folder: "5" } as const;

/** One member of an archive; paths are relative, without a leading slash. */
export type TarEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly data: Uint8Array;
    };

/** A ustar archive of root's files, the same bytes for the same entries. */
export function tarArchive(entries: readonly TarEntry[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.kind !== "file") continue;
    const padding = (BLOCK_BYTES - (entry.data.length % BLOCK_BYTES)) % BLOCK_BYTES;
    parts.push(entry.data, Buffer.alloc(padding));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const text = (value: string, offset: number, length: number): void => {
    const bytes = Buffer.from(value);
    if (bytes.length > length) throw new Error(`too long for a tar header: ${value}`);
    bytes.copy(block, offset);
  };
  const octal = (value: number, offset: number, digits: number): void =>
    text(value.toString(8).padStart(digits, "0"), offset, digits);
  text(entry.path, 0, 100);
  octal(entry.kind === "link" ? 0o777 : entry.mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(entry.kind === "file" ? entry.data.length : 0, 124, 11);
  octal(0, 136, 11);
  text(TYPE_FLAGS[entry.kind], 156, 1);
  if (entry.kind === "link") text(entry.target, 157, 100);
  text("ustar", 257, 6);
  text("00", 263, 2);
  // The checksum counts its own field as spaces.
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}
