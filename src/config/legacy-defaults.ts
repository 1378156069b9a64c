import { assert } from "../lib/assert.ts";
import { decodeConfig } from "./decode/decode-config.ts";
import { defaultConfig } from "./default-config.ts";
import { defaultEvictionHard } from "./default-eviction.ts";
import { defaultFeatureGates } from "./feature-gates.ts";
import type { KubeletConfiguration } from "./generated/kubelet-configuration.ts";

const readOnlyPort = 10255;

/** The configuration of a file that says nothing. */
export function fileDefaultConfig(): KubeletConfiguration {
  return { ...emptyConfig(), evictionHard: defaultEvictionHard };
}

/** The configuration without any file, as a kubelet's flags have it: open to everybody, unlike a file's. */
export function legacyDefaultConfig(): KubeletConfiguration {
  const config = emptyConfig();
  const { authentication, authorization } = config;
  return {
    ...config,
    authentication: {
      ...authentication,
      anonymous: { enabled: true },
      webhook: { ...authentication.webhook, enabled: false },
    },
    authorization: { ...authorization, mode: "AlwaysAllow" },
    readOnlyPort,
  };
}

function emptyConfig(): KubeletConfiguration {
  const empty = decodeConfig({ kind: "object", entries: [], at: { line: 1, column: 1 } });
  assert(empty.ok, "nothing can be decoded");
  const config = defaultConfig(empty.value.config, defaultFeatureGates);
  assert(config.ok, "the gates' defaults agree");
  return config.value;
}
