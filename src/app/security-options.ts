import { release } from "node:os";
import {
  parseSysctlAllowlist,
  type SysctlAllowlist,
  safeSysctlNames,
} from "../core/admission/sysctl-admission.ts";
import { SetupError } from "../lib/setup-error.ts";

export interface SecurityOptions {
  /** Names and patterns ("net.*"), separated by commas, of kernel settings that pods may change beside the safe ones. */
  readonly allowedUnsafeSysctls?: string | undefined;
  /** Containers without a seccomp profile get the runtime's instead of none. */
  readonly seccompDefault?: boolean | undefined;
}

export interface SecuritySettings {
  readonly sysctls: SysctlAllowlist;
  readonly seccompDefault: boolean;
}

/** Reads what the user allows pods on this machine's kernel. */
export function parseSecurity(options: SecurityOptions): SecuritySettings {
  const { allowedUnsafeSysctls = "", seccompDefault = false } = options;
  const unsafe = allowedUnsafeSysctls.split(",").filter((pattern) => pattern !== "");
  const sysctls = parseSysctlAllowlist([...safeSysctlNames(release()), ...unsafe]);
  if (sysctls.ok) return { sysctls: sysctls.value, seccompDefault };
  throw new SetupError(
    `--allowed-unsafe-sysctls: ${sysctls.error}`,
    "give names and patterns such as kernel.msg*,net.core.somaxconn",
  );
}
