import { encodeConfig } from "../config/encode-config.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { kubeletFlags } from "../config/generated/kubelet-flags.ts";
import { legacyDefaultConfig } from "../config/legacy-defaults.ts";
import { deepEqual } from "../lib/deep-equal.ts";
import { nodeText } from "../lib/json-node.ts";
import { parseJsonText } from "../lib/json-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";

/** What differs from the kubelet on purpose, and can be had as the kubelet does it. */
export interface KubeletApiSwitches {
  /** A GET that enters a container asks for `get` on the node, not for `create`. */
  readonly upstreamExecAuthorization: boolean;
  /** Serves /logs as enableSystemLogHandler says, not only where it is also asked for here. */
  readonly systemLogs: boolean;
}

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
 * opens is open, and without any way to authenticate clients there is no API.
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
  const noClients =
    isUsual &&
    deepEqual(authentication.x509, usual.authentication.x509) &&
    !authentication.webhook.enabled;
  if (!noClients || !config.enableServer) return { config: closed, warnings: [] };
  const warning =
    "the kubelet's API is not served: there is no way to authenticate clients; set --client-ca-file, --authentication-token-webhook or --anonymous-auth";
  return { config: { ...closed, enableServer: false }, warnings: [warning] };
}

/** Throws a SetupError when the API could not authenticate or authorize clients. */
export function requireAccessConfig(config: KubeletConfiguration, hasCluster: boolean): void {
  const { authentication, authorization, enableServer } = config;
  if (!enableServer) return;
  const { anonymous, webhook, x509 } = authentication;
  if (webhook.enabled && !hasCluster) {
    throw new SetupError(
      "no client provided, cannot use webhook authentication: there is no API server to ask",
      "give a --kubeconfig, or set authentication.webhook.enabled (--authentication-token-webhook) to false, or enableServer (--enable-server)",
    );
  }
  if (x509.clientCAFile === "" && !webhook.enabled && !anonymous.enabled) {
    throw new SetupError(
      "no authentication method configured: no client could use the kubelet's API",
      "set authentication.x509.clientCAFile (--client-ca-file), or enableServer (--enable-server) to false",
    );
  }
  const { mode } = authorization;
  if (mode !== "AlwaysAllow" && mode !== "Webhook") {
    throw new SetupError(
      `unknown authorization mode ${mode}`,
      "set authorization.mode (--authorization-mode) to Webhook or AlwaysAllow",
    );
  }
  if (mode === "Webhook" && !hasCluster) {
    throw new SetupError(
      "no client provided, cannot use webhook authorization: there is no API server to ask",
      "give a --kubeconfig, or set authorization.mode (--authorization-mode) to AlwaysAllow, or enableServer (--enable-server) to false",
    );
  }
}

/** Headers of the manifest URL may be credentials. */
const masked = "<masked>";
const secretFlags = new Set(["manifest-url-header", "storage-driver-password"]);

/** Every flag with the value that was given, or its default; credentials are masked. */
export function shownFlags(settings: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map(
    kubeletFlags.map(({ name, default: usual }) => {
      const isSecret = secretFlags.has(name) && settings.has(name);
      return [name, isSecret ? masked : (settings.get(name) ?? usual)];
    }),
  );
}

/** The configuration as the API writes it; credentials are masked. */
export function shownConfig(config: KubeletConfiguration): object {
  const headers = Object.keys(config.staticPodURLHeader ?? {}).map((name) => [name, [masked]]);
  const staticPodURLHeader = Object.fromEntries(
    headers,
  ) as KubeletConfiguration["staticPodURLHeader"];
  const shown = parseJsonText(nodeText(encodeConfig({ ...config, staticPodURLHeader }))) as object;
  return { kind: "KubeletConfiguration", apiVersion: "kubelet.config.k8s.io/v1beta1", ...shown };
}
