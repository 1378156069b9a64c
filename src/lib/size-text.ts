/** A number of bytes for people: "512 B", "1.5 GiB". */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${oneDecimal(size)} ${units[unit]}`;
}

/** Rounded to one digit behind the point, a half to the even one. */
function oneDecimal(value: number): string {
  const tenths = value * 10;
  const below = Math.floor(tenths);
  const isTie = tenths - below === 0.5;
  return ((isTie && below % 2 === 0 ? below : Math.round(tenths)) / 10).toFixed(1);
}
