import type { Event } from "../../model/generated/kubernetes.ts";

/** Equal for events that say the same of the same thing. */
export function eventKey(event: Event): string {
  const { fieldPath = "" } = event.involvedObject;
  return key([...aboutParts(event), fieldPath, event.reason, event.message]);
}

/** Equal for events that differ only in their message. */
export function similarKey(event: Event): string {
  const { reason, reportingComponent, reportingInstance } = event;
  return key([...aboutParts(event), reason, reportingComponent, reportingInstance]);
}

/** Equal for all events of one type that a source has about one object. */
export function sourceKey(event: Event): string {
  return key(aboutParts(event));
}

function aboutParts({ source, involvedObject, type }: Event): (string | undefined)[] {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [source?.component, source?.host, kind, namespace, name, uid, apiVersion, type];
}

function key(parts: readonly (string | undefined)[]): string {
  return parts.map((part) => part ?? "").join("\n");
}
