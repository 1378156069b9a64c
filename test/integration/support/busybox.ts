import type { ContractPrograms } from "../../contract/runtime-contract.ts";

export const BUSYBOX = "docker.io/library/busybox:latest";

/** The contract's programs as shell commands. */
export const busyboxPrograms: ContractPrograms = {
  // The shell handles the signal only between commands or in `wait`.
  forever: ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
  stubborn: ["sh", "-c", "trap '' TERM; sleep 3600"],
  exit: (code) => ["sh", "-c", `exit ${code}`],
  print: (stdout, stderr, code) => [
    "sh",
    "-c",
    'printf %s "$1"; printf %s "$2" >&2; exit "$3"',
    "sh",
    stdout,
    stderr,
    String(code),
  ],
};
