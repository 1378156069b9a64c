import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import {
  type CredentialProvider,
  parseCredentialProviders,
} from "../core/image/credential-provider.ts";
import {
  defaultVerification,
  type VerificationPolicy,
  type VerificationPolicyName,
} from "../core/image/verification-policy.ts";
import { readRegularFile } from "../drivers/disk/read-regular-file.ts";
import { credentialPlugins } from "../drivers/linux/credential-provider.ts";
import type { ImagePullLimits } from "../engine/images/image-puller.ts";
import { errorText } from "../lib/error-text.ts";
import { nodeText } from "../lib/json-node.ts";
import { maxDocumentLength, parseJsonText } from "../lib/json-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { parseYaml } from "../lib/yaml/parse-yaml.ts";
import type { CredentialPlugins } from "../ports/credential-plugins.ts";

/** Flags about images, as given. */
export interface ImageOptions {
  readonly credentialProviderConfig?: string | undefined;
  readonly credentialProviderBinDir?: string | undefined;
  readonly maxParallelImagePulls?: string | undefined;
  readonly registryQps?: string | undefined;
  readonly registryBurst?: string | undefined;
  readonly serializeImagePulls?: boolean | undefined;
}

export interface ImageSetup {
  readonly pulls: ImagePullLimits;
  readonly providers: readonly CredentialProvider[];
  readonly plugins: CredentialPlugins;
  /** Undefined = any pod may use what is there. */
  readonly verification: VerificationPolicy | undefined;
}

const defaultPulls = { maxParallel: 4, perSecond: 5, burst: 10 };
const configEndings: ReadonlySet<string> = new Set([".json", ".yaml", ".yml"]);

/** Why a node without a cluster has no service account tokens for credential providers. */
export const tokensNeedCluster =
  "service account tokens come from a cluster, and there is none: remove it";

/** No flags: no credential providers, and the default limits. */
export const defaultImageSetup: ImageSetup = {
  pulls: defaultPulls,
  providers: [],
  plugins: { run: () => Promise.reject(new Error("there are no credential providers")) },
  verification: defaultVerification,
};

/**
 * Throws a SetupError that names the flag, file or field that is wrong. `noTokens`: why credential providers get no service account
 * tokens; undefined = they do.
 */
export function parseImageOptions(options: ImageOptions, noTokens: string | undefined): ImageSetup {
  const pulls = parsePulls(options);
  const { credentialProviderConfig: config, credentialProviderBinDir: folder } = options;
  if (config === undefined && folder === undefined) return { ...defaultImageSetup, pulls };
  if (config === undefined || folder === undefined) {
    const missing = config === undefined ? "config" : "bin-dir";
    throw new SetupError(
      "credential providers need a config file and a folder of programs",
      `give --image-credential-provider-${missing} as well`,
    );
  }
  const providers = configFiles(config).flatMap((file) => readProviders(file, noTokens));
  const names = providers.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) {
      throw new SetupError(`${config} has the provider "${name}" twice`, "remove one of them");
    }
    requireProgram(join(folder, name));
  }
  return { ...defaultImageSetup, pulls, providers, plugins: credentialPlugins(folder) };
}

/** As a kubelet's configuration has it, which was validated. Without the feature the policy is empty. */
export function imageVerification({
  imagePullCredentialsVerificationPolicy: name,
  preloadedImagesVerificationAllowlist: allowlist = [],
}: Pick<
  KubeletConfiguration,
  "imagePullCredentialsVerificationPolicy" | "preloadedImagesVerificationAllowlist"
>): VerificationPolicy | undefined {
  return name === "" ? undefined : { name: name as VerificationPolicyName, allowlist };
}

function parsePulls(options: ImageOptions): ImagePullLimits {
  const { maxParallelImagePulls, registryQps, registryBurst, serializeImagePulls } = options;
  const parallel = parseNumber("max-parallel-image-pulls", maxParallelImagePulls, 1);
  if (serializeImagePulls === true && parallel !== undefined && parallel !== 1) {
    throw new SetupError(
      `--max-parallel-image-pulls ${parallel} contradicts --serialize-image-pulls`,
      "give only one of them",
    );
  }
  return {
    maxParallel: serializeImagePulls === true ? 1 : (parallel ?? defaultPulls.maxParallel),
    perSecond: parseNumber("registry-qps", registryQps, 0) ?? defaultPulls.perSecond,
    burst: parseNumber("registry-burst", registryBurst, 0) ?? defaultPulls.burst,
  };
}

function parseNumber(flag: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value >= least) return value;
  throw new SetupError(`--${flag} "${text}" is not such a number`, `give one of ${least} or more`);
}

/** The file itself, or the config files of a folder in the order of their names. */
function configFiles(path: string): readonly string[] {
  const files = reading(path, () =>
    statSync(path).isDirectory()
      ? readdirSync(path, { withFileTypes: true })
          .filter((entry) => !entry.isDirectory() && configEndings.has(extname(entry.name)))
          .map(({ name }) => join(path, name))
          .toSorted()
      : [path],
  );
  if (files.length > 0) return files;
  throw new SetupError(`${path} has no config file`, "put a .yaml or .json file there");
}

function readProviders(file: string, noTokens: string | undefined): readonly CredentialProvider[] {
  const document = parseYaml(reading(file, () => readRegularFile(file, maxDocumentLength)));
  if (!document.ok) throw new SetupError(`${file}: ${document.error.message}`, "correct the file");
  const parsed = parseCredentialProviders(parseJsonText(nodeText(document.value)), noTokens);
  if (parsed.ok) return parsed.value;
  throw new SetupError(`${file}: ${parsed.error.join("; ")}`, "correct the file");
}

function requireProgram(path: string): void {
  reading(path, () => {
    accessSync(path, constants.X_OK);
    if (!statSync(path).isFile()) throw new Error("it is not a file");
  });
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new SetupError(`cannot use ${path} (${errorText(error)})`, "check that flag and file", {
      cause: error,
    });
  }
}
