/** The blocks of a PEM text that have that label, from BEGIN to END, in their order. */
export function pemBlocks(pem: string, label: string): readonly string[] {
  const [begin, end] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`];
  const blocks: string[] = [];
  let start = pem.indexOf(begin);
  while (start >= 0) {
    const found = pem.indexOf(end, start + begin.length);
    if (found < 0) break;
    blocks.push(pem.slice(start, found + end.length));
    start = pem.indexOf(begin, found + end.length);
  }
  return blocks;
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** What such blocks hold, in base64 without line breaks. A block with anything else in it is left out. */
export function pemContents(pem: string, label: string): readonly string[] {
  const begin = `-----BEGIN ${label}-----`.length;
  const end = `-----END ${label}-----`.length;
  return pemBlocks(pem, label)
    .map((block) => block.slice(begin, -end).replaceAll(/\s/g, ""))
    .filter((content) => base64.test(content));
}

/** One block of a PEM text. */
export function pemText(label: string, content: string): string {
  const lines = content.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
