import { applyFlags, parseCommandLine } from "../../../src/config/flags/command-line.ts";
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
  readonly args: readonly string[];
  readonly file: string | null;
}

export const kubeletConfigFlags: VectorDomain = vectorDomain<Input>(
  "kubelet-config-flags",
  ({ args, file }) => {
    const parsed = parseCommandLine(args);
    if (!parsed.ok) return { error: parsed.error };
    if (parsed.value.wantsHelp) return { help: true };
    let result: Pick<typeof parsed.value, "config" | "gates"> = parsed.value;
    if (file !== null) {
      const loaded = loadConfig({ path: configPath, text: file }, yamlReader, parsed.value.gates);
      if (!loaded.ok) return shownFailure(loaded.error, "error");
      const applied = applyFlags(loaded.value.config, parsed.value);
      if (!applied.ok) return { error: applied.error };
      result = applied.value;
    }
    return {
      setFlags: Object.fromEntries(parsed.value.settings),
      config: shownConfig(result.config),
      validationErrors: validateConfig(result.config, result.gates, 2),
    };
  },
  withoutJsonFormat,
);
