import type { Probe } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { expand } from "../env/expansion.ts";

/** The probe with references in its command replaced by values that the container's spec names itself. */
export function expandProbeCommand(probe: Probe, container: AnyContainer): Probe {
  const { exec } = probe;
  if (exec?.command === undefined) return probe;
  const values = new Map((container.env ?? []).map(({ name, value = "" }) => [name, value]));
  const command = exec.command.map((part) => expand(part, (name) => values.get(name)));
  return { ...probe, exec: { ...exec, command } };
}
