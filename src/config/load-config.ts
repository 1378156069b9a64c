import { quoteText } from "../lib/go-text.ts";
import { joinPath } from "../lib/path.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type ConfigDocument, parseConfigDocument, type YamlReader } from "./config-document.ts";
import { decodeConfig } from "./decode/decode-config.ts";
import { defaultConfig } from "./default-config.ts";
import { defaultEvictionHard } from "./default-eviction.ts";
import type { FeatureGateState } from "./feature-gates.ts";
import type { KubeletConfiguration } from "./generated/kubelet-configuration.ts";

/** A file that was read; the path is absolute. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Why there is no configuration. Gates that cannot be set are a kind of their own: a kubelet crashes on them. */
export interface ConfigFailure {
  readonly kind: "file" | "featureGates";
  readonly message: string;
}

interface LoadedConfig {
  readonly config: KubeletConfiguration;
  /** Unknown and doubled fields, to be warned about. */
  readonly strictErrors: readonly string[];
}

export const configVersion = "kubelet.config.k8s.io/v1beta1";
const configGroup = "kubelet.config.k8s.io";
const scheme = "pkg/kubelet/apis/config/scheme/scheme.go:33";
const otherKinds: Readonly<Record<string, readonly string[]>> = {
  v1beta1: ["SerializedNodeConfigSource", "CredentialProviderConfig"],
  v1alpha1: ["CredentialProviderConfig"],
  v1: ["CredentialProviderConfig"],
};

/** The configuration of a --config file: decoded, with defaults, and with its paths made absolute. */
export function loadConfig(
  file: ConfigFile,
  yaml: YamlReader,
  gates: FeatureGateState,
): Result<LoadedConfig, ConfigFailure> {
  const failed = (message: string): Result<LoadedConfig, ConfigFailure> =>
    err({
      kind: "file",
      message: `failed to load Kubelet config file ${file.path}, error ${message}`,
    });
  if (file.text === "") return failed(`kubelet config file ${quoteText(file.path)} was empty`);
  const document = parseConfigDocument(file.text, yaml);
  if (!document.ok) return failed(`failed to decode: ${document.error}`);
  const wrongKind = kindProblem(document.value, file.text);
  if (wrongKind !== undefined) return failed(wrongKind);
  const decoded = decodeConfig(document.value.root);
  if (!decoded.ok) return failed(`failed to decode: ${decoded.error}`);
  const defaulted = defaultConfig(decoded.value.config, gates);
  if (!defaulted.ok) return err({ kind: "featureGates", message: defaulted.error });
  const config = resolvePaths(defaulted.value, file.path.replace(/\/[^/]*$/, "") || "/");
  return ok({
    config: { ...config, evictionHard: fullEvictionHard(config) },
    strictErrors: [...document.value.strictErrors, ...decoded.value.strictErrors],
  });
}

function kindProblem(document: ConfigDocument, text: string): string | undefined {
  const { group, version, kind } = document;
  if (kind === "") return `failed to decode: Object 'Kind' is missing in '${text}'`;
  if (version === "") return `failed to decode: Object 'apiVersion' is missing in '${text}'`;
  const full = group === "" ? version : `${group}/${version}`;
  if (full === configVersion && kind === "KubeletConfiguration") return undefined;
  const known = Object.hasOwn(otherKinds, version) ? otherKinds[version] : undefined;
  if (group === configGroup && known?.includes(kind) === true) {
    return `failed to cast object to KubeletConfiguration, unexpected type: ${full}, Kind=${kind}`;
  }
  return `failed to decode: no kind ${quoteText(kind)} is registered for version ${quoteText(full)} in scheme ${quoteText(scheme)}`;
}

/** Relative paths are meant from the folder of the file. */
function resolvePaths(config: KubeletConfiguration, folder: string): KubeletConfiguration {
  const resolve = (path: string): string =>
    path === "" || path.startsWith("/") ? path : joinPath(folder, path);
  const { x509 } = config.authentication;
  return {
    ...config,
    staticPodPath: resolve(config.staticPodPath),
    authentication: {
      ...config.authentication,
      x509: { clientCAFile: resolve(x509.clientCAFile) },
    },
    tlsCertFile: resolve(config.tlsCertFile),
    tlsPrivateKeyFile: resolve(config.tlsPrivateKeyFile),
    resolvConf: resolve(config.resolvConf),
    volumePluginDir: resolve(config.volumePluginDir),
    podLogsDir: resolve(config.podLogsDir),
  };
}

function fullEvictionHard({
  evictionHard,
  mergeDefaultEvictionSettings,
}: KubeletConfiguration): Readonly<Record<string, string>> {
  if (evictionHard === undefined) return defaultEvictionHard;
  return mergeDefaultEvictionSettings ? { ...defaultEvictionHard, ...evictionHard } : evictionHard;
}
