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
