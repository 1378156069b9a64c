/** The name of a kernel parameter with dots between its parts. Where a slash comes first, slashes and dots change places. */
export function dottedSysctl(name: string): string {
  const separator = name.search(/[./]/);
  if (separator === -1 || name[separator] === ".") return name;
  return name.replace(/[./]/g, (one) => (one === "." ? "/" : "."));
}
