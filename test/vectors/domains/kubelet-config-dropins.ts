import { defaultFeatureGates } from "../../../src/config/feature-gates.ts";
import { legacyDefaultConfig } from "../../../src/config/legacy-defaults.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { mergeDropIns } from "../../../src/config/merge-drop-ins.ts";
import { validateConfig } from "../../../src/config/validate/validate-config.ts";
import {
  configPath,
  dropInPath,
  shownConfig,
  shownFailure,
  withoutJsonFormat,
  yamlReader,
} from "../kubelet-config.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly file: string | null;
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

export const kubeletConfigDropins: VectorDomain = vectorDomain<Input>(
  "kubelet-config-dropins",
  ({ file, files }) => {
    const gates = defaultFeatureGates;
    const base =
      file === null
        ? { ok: true as const, value: { config: legacyDefaultConfig() } }
        : loadConfig({ path: configPath, text: file }, yamlReader, gates);
    if (!base.ok) return shownFailure(base.error, "loadError");
    const folder = {
      path: dropInPath,
      files: files.map(({ path, content }) => ({ path, text: content })),
    };
    const merged = mergeDropIns(base.value.config, folder, yamlReader, gates);
    if (!merged.ok) return shownFailure(merged.error, "mergeError");
    const { config, skipped } = merged.value;
    return {
      config: shownConfig(config),
      skipped,
      validationErrors: validateConfig(config, gates, 2),
    };
  },
  (value) => withoutJsonFormat(withoutYamlTexts(value)),
);

/** Syntax errors of YAML are worded by Go's library. */
function withoutYamlTexts(value: unknown): unknown {
  const { mergeError } = value as { readonly mergeError?: string };
  if (mergeError === undefined) return value;
  return { mergeError: mergeError.replace(/error: yaml: .*/s, "error: yaml") };
}
