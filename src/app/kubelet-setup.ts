// The settings of `berth kubelet`, from its flags and files.
import { readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { FeatureGateState } from "../config/feature-gates.ts";
import { applyFlags, type KubeletCommandLine } from "../config/flags/command-line.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { type ConfigFile, loadConfig } from "../config/load-config.ts";
import { mergeDropIns } from "../config/merge-drop-ins.ts";
import { judgeConfig } from "../config/support/judge-config.ts";
import { validateConfig } from "../config/validate/validate-config.ts";
import { readRegularFile } from "../drivers/disk/read-regular-file.ts";
import { openCgroups } from "../drivers/linux/open-cgroups.ts";
import { errorText } from "../lib/error-text.ts";
import { maxDocumentLength } from "../lib/json-text.ts";
import type { Result } from "../lib/result.ts";
import { SetupError } from "../lib/setup-error.ts";
import { listDuplicateKeys } from "../lib/yaml/duplicate-keys.ts";
import { parseYaml } from "../lib/yaml/parse-yaml.ts";
import { withoutDocument } from "../model/manifest/object-kind.ts";
import { memoryQosWarnings } from "./memory-qos-options.ts";

/** A kubelet's configuration that Berth can run with. */
export interface KubeletSetup {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGateState;
  /** The flags that were given, by their names. */
  readonly settings: ReadonlyMap<string, string>;
  /** What the user should know: settings without effect, fields that do not exist, files that do not count. */
  readonly warnings: readonly string[];
}

const yaml = { parseYaml, listDuplicateKeys };

/** A configuration with all that speaks against it. */
export interface JudgedSetup extends KubeletSetup {
  /** What a kubelet would not start with. */
  readonly problems: readonly string[];
  /** What Berth does not do. */
  readonly refusals: readonly string[];
}

/** Reads what the flags name; throws a SetupError that names what is wrong, and everything that is refused. */
export function readKubeletSetup(commandLine: KubeletCommandLine): KubeletSetup {
  const { problems, refusals, ...setup } = judgeKubeletSetup(commandLine);
  if (problems.length > 0) {
    throw new SetupError(problems.join("; "), "correct the configuration");
  }
  if (refusals.length > 0) {
    const list = refusals.map((refusal) => `\n  ${refusal}`).join("");
    throw new SetupError(
      "Berth does not do yet all that the configuration asks for",
      `leave this out, or use the kubelet for this node (docs/kubelet.md lists all settings):${list}`,
    );
  }
  return setup;
}

/** The same without a verdict; throws only where something cannot be read at all. */
export function judgeKubeletSetup(commandLine: KubeletCommandLine): JudgedSetup {
  const { config, gates, notes } = readConfig(commandLine);
  const { settings } = commandLine;
  const { warnings, refusals } = judgeConfig(config, gates, settings);
  const { version } = openCgroups("/kubepods");
  const problems = validateConfig(config, gates, version);
  const all = [...notes, ...warnings, ...memoryQosWarnings(gates, version)];
  return { config, gates, settings, warnings: all, problems, refusals };
}

type ReadConfig = Pick<KubeletCommandLine, "config" | "gates"> & {
  readonly notes: readonly string[];
};

function readConfig(commandLine: KubeletCommandLine): ReadConfig {
  const { settings, gates } = commandLine;
  const file = settings.get("config") ?? "";
  const folder = settings.get("config-dir") ?? "";
  if (file === "" && folder === "") return { config: commandLine.config, gates, notes: [] };
  const notes: string[] = [];
  let { config } = commandLine;
  if (file !== "") {
    const path = resolve(file);
    const loaded = valueOf(loadConfig({ path, text: readText(path, "--config") }, yaml, gates));
    config = loaded.config;
    notes.push(...loaded.strictErrors.map((problem) => `${path}: ${problem}`));
  }
  if (folder !== "") {
    const path = resolve(folder);
    const merged = valueOf(mergeDropIns(config, { path, files: readFolder(path) }, yaml, gates));
    config = merged.config;
    notes.push(
      ...merged.skipped.map(
        (name) => `${join(path, name)} is not a drop-in: its name does not end with .conf`,
      ),
    );
  }
  const applied = applyFlags(config, commandLine);
  if (!applied.ok) throw new SetupError(applied.error, "correct the flags");
  return { ...applied.value, notes };
}

function valueOf<T>(result: Result<T, { readonly message: string }>): T {
  if (result.ok) return result.value;
  throw new SetupError(withoutDocument(result.error.message), "correct the file");
}

function readText(path: string, flag: string): string {
  return reading(path, flag, () => readRegularFile(path, maxDocumentLength));
}

function readFolder(folder: string): readonly ConfigFile[] {
  const entries = reading(folder, "--config-dir", () => listConfigFolder(folder));
  return entries.map((path) => ({
    path: relative(folder, path),
    text: path.endsWith(".conf") ? readText(path, "--config-dir") : "",
  }));
}

function reading<T>(path: string, flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const message = `cannot read ${path} (${errorText(error)})`;
    throw new SetupError(message, `check ${flag}`, { cause: error });
  }
}

/** All files in a folder of drop-ins and below it. */
export function listConfigFolder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}
