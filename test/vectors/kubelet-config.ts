// What the domains about the kubelet's configuration share.
import type { YamlReader } from "../../src/config/config-document.ts";
import { encodeConfig } from "../../src/config/encode-config.ts";
import type { KubeletConfiguration } from "../../src/config/generated/kubelet-configuration.ts";
import type { ConfigFailure } from "../../src/config/load-config.ts";
import { nodeText } from "../../src/lib/json-node.ts";
import { listDuplicateKeys } from "../../src/lib/yaml/duplicate-keys.ts";
import { parseYaml } from "../../src/lib/yaml/parse-yaml.ts";

export const configPath = "/CONFIGROOT/cfg/kubelet.yaml";
export const dropInPath = "/CONFIGROOT/cfg/kubelet.conf.d";
export const yamlReader: YamlReader = { parseYaml, listDuplicateKeys };

export function shownConfig(config: KubeletConfiguration): unknown {
  return JSON.parse(nodeText(encodeConfig(config)));
}

/** The vectors were made by a program without the format json, which the kubelet itself has. */
export function withoutJsonFormat(value: unknown): unknown {
  const { validationErrors } = value as { readonly validationErrors?: readonly string[] };
  if (validationErrors === undefined) return value;
  const rest = validationErrors.filter(
    (text) => !/logging\.format: Invalid value: "json": Unsupported log format/.test(text),
  );
  return { ...(value as object), validationErrors: rest };
}

export function shownFailure(failure: ConfigFailure, key: string): Record<string, string> {
  return { [failure.kind === "featureGates" ? "panic" : key]: failure.message };
}
