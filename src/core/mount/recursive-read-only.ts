import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { RuntimeHandler } from "../../model/generated/cri.ts";
import type { VolumeMount } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";

/** Whether a container has a mount for which it matters what the runtime can do. */
export function wantsRecursiveReadOnly({ volumeMounts = [] }: AnyContainer): boolean {
  return volumeMounts.some(
    ({ recursiveReadOnly: mode }) => mode !== undefined && mode !== "Disabled",
  );
}

/** Whether a handler of the runtime can do it; "" is the default one. */
export function supportsRecursiveReadOnly(
  handler: string,
  known: readonly RuntimeHandler[],
): boolean {
  const found = known.find(({ name = "" }) => name === handler);
  return found?.features?.recursiveReadOnlyMounts === true;
}

/** Whether what is mounted below a read-only mount is read-only too. */
export function isRecursiveReadOnly(
  mount: Pick<VolumeMount, "name" | "readOnly" | "recursiveReadOnly" | "mountPropagation">,
  isSupported: boolean,
): Result<boolean, string> {
  const { recursiveReadOnly: mode, mountPropagation: propagation } = mount;
  if (mode === undefined || mode === "Disabled") return ok(false);
  const requested = `volume ${quoteText(mount.name)} requested recursive read-only mode`;
  if (mount.readOnly !== true) return err(`${requested}, but it is not read-only`);
  if (propagation !== undefined && propagation !== "None") {
    return err(`${requested}, but it is not compatible with propagation ${quoteText(propagation)}`);
  }
  if (mode === "IfPossible") return ok(isSupported);
  if (mode !== "Enabled") return err(`unknown recursive read-only mode ${quoteText(mode)}`);
  return isSupported ? ok(true) : err(`${requested}, but it is not supported by the runtime`);
}
