import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { legacyDefaultConfig } from "../config/legacy-defaults.ts";
import { deepEqual } from "../lib/deep-equal.ts";
import { SetupError } from "../model/setup-error.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import type { KubeletApiSwitches } from "./serve-kubelet-api.ts";

/** Reads the environment variables by which Berth's API does as the kubelet's; throws a SetupError for other values. */
export function readApiSwitches(
  environment: Readonly<Record<string, string | undefined>>,
): KubeletApiSwitches {
  return {
    upstreamExecAuthorization: isChosen(environment, "BERTH_EXEC_AUTHORIZATION", "upstream"),
    systemLogs: isChosen(environment, "BERTH_SYSTEM_LOGS", "on"),
  };
}

function isChosen(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  choice: string,
): boolean {
  const value = environment[name] ?? "";
  if (value !== "" && value !== choice) {
    throw new SetupError(`${name}=${value} means nothing`, `set it to ${choice}, or not at all`);
  }
  return value === choice;
}

/**
 * The configuration that the API is served by. Without a file a kubelet is open to everybody; here only what a flag
 * opens is open, and without any way to tell who asks there is no API.
 */
export function safeApiConfig({ config, settings }: KubeletSetup): {
  readonly config: KubeletConfiguration;
  readonly warnings: readonly string[];
} {
  if ((settings.get("config") ?? "") !== "") return { config, warnings: [] };
  const usual = legacyDefaultConfig();
  const { authentication } = config;
  const isUsual = !settings.has("anonymous-auth");
  const anonymous = isUsual ? { enabled: false } : authentication.anonymous;
  const readOnlyPort = settings.has("read-only-port") ? config.readOnlyPort : 0;
  const closed = { ...config, readOnlyPort, authentication: { ...authentication, anonymous } };
  const nobody =
    isUsual &&
    deepEqual(authentication.x509, usual.authentication.x509) &&
    !authentication.webhook.enabled;
  if (!nobody || !config.enableServer) return { config: closed, warnings: [] };
  const warning =
    "the kubelet's API is not served: there is no way to tell who asks; set --client-ca-file, --authentication-token-webhook or --anonymous-auth";
  return { config: { ...closed, enableServer: false }, warnings: [warning] };
}
