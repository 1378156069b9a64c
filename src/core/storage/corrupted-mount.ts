const corruptedCodes: ReadonlySet<string> = new Set([
  "ENOTCONN",
  "ESTALE",
  "EIO",
  "EACCES",
  "EHOSTDOWN",
  "EWOULDBLOCK",
  "EAGAIN",
  "ENODEV",
]);

/** Whether an error of the system about a path shows that something is mounted there whose server or device has gone. */
export function isCorruptedMount(errorCode: string): boolean {
  return corruptedCodes.has(errorCode);
}
