const classic = [
  ..."ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT".split(
    " ",
  ),
  ..."STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX".split(
    " ",
  ),
];
const aboveMinimum = Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`);
const belowMaximum = Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`);

const linuxSignals: readonly string[] = [...classic, ...aboveMinimum, ...belowMaximum]
  .map((name) => `SIG${name}`)
  .toSorted();
const windowsSignals: readonly string[] = ["SIGKILL", "SIGTERM"];

/** The signals that can stop a container of an operating system, sorted; none where the system is unknown. */
export function supportedSignals(os: string): readonly string[] {
  if (os === "windows") return windowsSignals;
  return os === "linux" ? linuxSignals : [];
}

/** An unknown operating system is refused elsewhere, not with its signals. */
export function isSupportedSignal(signal: string, os: string): boolean {
  const supported = supportedSignals(os);
  return supported.length === 0 || supported.includes(signal);
}
