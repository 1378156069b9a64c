const blockBytes = 512;

/** The regular files of a tar archive by their paths. */
export function readTarFiles(archive: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let offset = 0; archive[offset] !== 0; ) {
    const header = archive.subarray(offset, offset + blockBytes);
    const text = (from: number, length: number): string =>
      header.toString("latin1", from, from + length).replace(/\0.*$/, "");
    const size = Number.parseInt(text(124, 12), 8);
    const start = offset + blockBytes;
    if (text(156, 1) === "0") files.set(text(0, 100), archive.subarray(start, start + size));
    offset = start + Math.ceil(size / blockBytes) * blockBytes;
  }
  return files;
}
