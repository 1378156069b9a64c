import { defaultFeatureGates } from "../../../src/config/feature-gates.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { validateConfig } from "../../../src/config/validate/validate-config.ts";
import {
  configPath,
  shownConfig,
  shownFailure,
  withoutJsonFormat,
  yamlReader,
} from "../kubelet-config.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly file: string;
}

export const kubeletConfig: VectorDomain = vectorDomain<Input>(
  "kubelet-config",
  ({ file }) => {
    const loaded = loadConfig({ path: configPath, text: file }, yamlReader, defaultFeatureGates);
    if (!loaded.ok) return shownFailure(loaded.error, "loadError");
    const { config, strictErrors } = loaded.value;
    return {
      config: shownConfig(config),
      validationErrors: validateConfig(config, defaultFeatureGates, 2),
      ...(strictErrors.length === 0 ? {} : { strictErrors }),
    };
  },
  (value) => withoutJsonFormat(withoutYamlTexts(value)),
);

/** Syntax errors of YAML are worded by Go's library. */
function withoutYamlTexts(value: unknown): unknown {
  const { loadError } = value as { readonly loadError?: string };
  if (loadError === undefined) return value;
  return { loadError: loadError.replace(/failed to decode: yaml: .*/s, "failed to decode: yaml") };
}
