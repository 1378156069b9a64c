import { pathToFileURL } from "node:url";
import { bundledEntry } from "./bundled-entry.ts";

/** The program of the kubelet API's thread; `source` is another one than the agent's own, below the repository. */
export function apiThreadEntry(source = "src/app/kubelet-api-thread.ts"): URL {
  return pathToFileURL(bundledEntry(source));
}
