// How a command in a container ended, as the runtime reports it.
import { parseJsonText } from "../lib/json-text.ts";
import type { Status } from "./generated/kubernetes.ts";

export type CommandEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "failed"; readonly message: string };

/** The error stream carries a Status: success, an exit code, or what kept the command from running. */
export function parseCommandEnd(text: string): CommandEnd {
  if (text === "") {
    const message = "the connection to the container ended before the command did";
    return { kind: "failed", message };
  }
  const status = parseStatus(text);
  if (status?.status === "Success") return { kind: "exited", exitCode: 0 };
  const cause = status?.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const exitCode = Number(cause?.message);
  if (status?.reason === "NonZeroExitCode" && Number.isInteger(exitCode)) {
    return { kind: "exited", exitCode };
  }
  return { kind: "failed", message: status?.message ?? text };
}

function parseStatus(text: string): Status | undefined {
  try {
    return parseJsonText(text) as Status;
  } catch {
    return undefined;
  }
}
