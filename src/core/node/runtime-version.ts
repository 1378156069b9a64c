/** A runtime's version as a node reports it, without the suffixes that are not part of the version. */
export function parseRuntimeVersion(text: string): string | undefined {
  const semantic = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/.exec(text.trim());
  if (semantic !== null) return semantic[1];
  return /^v?(\d+(?:\.\d+)+)/.exec(text.trim())?.[1];
}
