import { jsonText } from "../../lib/go-text.ts";
import type { AnyContainer } from "../../model/pod.ts";

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * Hex hash of what forces a running container to be replaced: its name and image.
 * Wire format: it is stored on containers, also by kubelets of other versions.
 */
export function containerHash(container: AnyContainer): string {
  const fields = jsonText({ image: container.image ?? "", name: container.name });
  const bytes = new TextEncoder().encode(fields);
  return fnv1a(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}

/** FNV-1a over ASCII text, 32 bits. */
function fnv1a(text: string): number {
  let hash = fnvOffset;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), fnvPrime);
  }
  return hash >>> 0;
}
