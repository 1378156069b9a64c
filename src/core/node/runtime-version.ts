/** A runtime's version as a node tells it: what the runtime appends that is no version is left out. */
export function parseRuntimeVersion(text: string): string | undefined {
  const semantic = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/.exec(text.trim());
  if (semantic !== null) return semantic[1];
  return /^v?(\d+(?:\.\d+)+)/.exec(text.trim())?.[1];
}
