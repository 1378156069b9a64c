import { fnv1a } from "../../lib/fnv.ts";
import { jsonText } from "../../lib/go-text.ts";
import type { AnyContainer } from "../../model/pod.ts";

/**
 * Hex hash of what forces a running container to be replaced: its name and image.
 * Wire format: it is stored on containers, also by kubelets of other versions.
 */
export function containerHash(container: AnyContainer): string {
  const fields = jsonText({ image: container.image ?? "", name: container.name });
  const bytes = new TextEncoder().encode(fields);
  return fnv1a(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}
