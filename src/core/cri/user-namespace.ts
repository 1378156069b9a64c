import { err, ok, type Result } from "../../lib/result.ts";
import { NamespaceMode, type UserNamespace } from "../../model/generated/cri.ts";
import type { Pod } from "../../model/pod.ts";

/** The user namespace of a pod: the node's own, unless it asks for another, which needs a runtime that has them. */
export function podUserNamespace({ spec }: Pod): Result<UserNamespace, string> {
  if (spec.hostUsers !== false) return ok({ mode: NamespaceMode.NODE });
  return err("can't set `spec.hostUsers: false`, runtime does not support user namespaces");
}
