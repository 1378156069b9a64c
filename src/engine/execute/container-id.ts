/** The runtime's own id of an observed container: "containerd://0123" is 0123. */
export function rawContainerId(id: string): string {
  const scheme = id.indexOf("://");
  return scheme < 0 ? id : id.slice(scheme + 3);
}
