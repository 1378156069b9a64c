import { err, ok, type Result } from "../../lib/result.ts";
import { utf8Length } from "../../lib/utf8.ts";
import type { Probe } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { expand, maxExpandedBytes } from "../env/expansion.ts";

const probeFields = ["startupProbe", "livenessProbe", "readinessProbe"] as const;

/** The probe with references in its command replaced by values that the container's spec names itself. */
export function expandProbeCommand(probe: Probe, container: AnyContainer): Result<Probe, string> {
  const { exec } = probe;
  if (exec?.command === undefined) return ok(probe);
  const values = new Map((container.env ?? []).map(({ name, value = "" }) => [name, value]));
  const command: string[] = [];
  let leftBytes = maxExpandedBytes;
  for (const part of exec.command) {
    const text = expand(part, (name) => values.get(name), leftBytes);
    leftBytes -= utf8Length(text ?? "") + 1;
    if (text === undefined || leftBytes < 0) {
      return err(
        `the command takes more than ${maxExpandedBytes} bytes: shorten it or what it refers to`,
      );
    }
    command.push(text);
  }
  return ok({ ...probe, exec: { ...exec, command } });
}

/** Why a container cannot be probed as it asks for; it is not started then. */
export function probeCommandProblem(container: AnyContainer): string | undefined {
  for (const field of probeFields) {
    const probe = container[field];
    const expanded = probe === undefined ? undefined : expandProbeCommand(probe, container);
    if (expanded?.ok === false) return `${field}.exec: ${expanded.error}`;
  }
  return undefined;
}
