import type { PodCredentials } from "../../src/engine/images/pull-credentials.ts";
import { ok } from "../../src/lib/result.ts";
import type { AuthConfig } from "../../src/model/generated/cri.ts";

/** The same credentials for every image. */
export function fixedCredentials(...credentials: readonly AuthConfig[]): PodCredentials {
  return {
    version: JSON.stringify(credentials),
    find: async () => ok(credentials.map((auth) => ({ auth }))),
  };
}
