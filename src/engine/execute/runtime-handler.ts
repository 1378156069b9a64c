import { err, ok, type Result } from "../../lib/result.ts";
import type { Pod } from "../../model/pod.ts";
import type { RuntimeClassStore } from "../../ports/object-store.ts";

/** The runtime handler of the pod's RuntimeClass; "" is the runtime's default. */
export function runtimeHandlerOf(
  { spec }: Pod,
  classes: RuntimeClassStore,
): Result<string, string> {
  const { runtimeClassName = "" } = spec;
  if (runtimeClassName === "") return ok("");
  const found = classes.runtimeClass(runtimeClassName);
  return found.ok ? ok(found.value.handler) : err(found.error.message);
}
