import { expect, test } from "vitest";
import { defaultFeatureGates } from "../config/feature-gates.ts";
import { fileDefaultConfig, legacyDefaultConfig } from "../config/legacy-defaults.ts";
import { readApiSwitches, safeApiConfig, shownConfig, shownFlags } from "./kubelet-api-options.ts";

function legacy(flags: Readonly<Record<string, string>>, clientCAFile = "") {
  const config = legacyDefaultConfig();
  const authentication = { ...config.authentication, x509: { clientCAFile } };
  const readOnlyPort = Number(flags["read-only-port"] ?? config.readOnlyPort);
  const settings = new Map(Object.entries(flags));
  const changed = { ...config, authentication, readOnlyPort };
  return safeApiConfig({ config: changed, settings, gates: defaultFeatureGates, warnings: [] });
}

test("without a file only what a flag opens is open", () => {
  const { config } = legacy({ "client-ca-file": "/ca.crt" }, "/ca.crt");
  expect(config).toMatchObject({
    enableServer: true,
    readOnlyPort: 0,
    authentication: { anonymous: { enabled: false } },
  });
  expect(legacy({ "anonymous-auth": "true", "read-only-port": "10255" }).config).toMatchObject({
    enableServer: true,
    readOnlyPort: 10255,
    authentication: { anonymous: { enabled: true } },
  });
});

test("without any way to authenticate clients the API is not served, and a warning says so", () => {
  const { config, warnings } = legacy({});
  expect(config.enableServer).toBe(false);
  expect(warnings.join()).toContain("--client-ca-file");
});

test("a file is taken at its word", () => {
  const config = { ...fileDefaultConfig(), readOnlyPort: 10255 };
  const settings = new Map([["config", "/etc/kubelet.yaml"]]);
  const setup = { config, settings, gates: defaultFeatureGates, warnings: [] };
  expect(safeApiConfig(setup)).toEqual({ config, warnings: [] });
});

test("the environment may ask for upstream's ways, and only for them", () => {
  expect(readApiSwitches({})).toEqual({ upstreamExecAuthorization: false, systemLogs: false });
  expect(
    readApiSwitches({ BERTH_EXEC_AUTHORIZATION: "upstream", BERTH_SYSTEM_LOGS: "on" }),
  ).toEqual({ upstreamExecAuthorization: true, systemLogs: true });
  expect(() => readApiSwitches({ BERTH_SYSTEM_LOGS: "yes" })).toThrow("BERTH_SYSTEM_LOGS=yes");
});

test("credentials are shown nowhere", () => {
  const flags = shownFlags(new Map([["manifest-url-header", "Authorization:secret"]]));
  expect(flags.get("manifest-url-header")).toBe("<masked>");
  expect(flags.get("v")).toBe("0");
  const header = { Authorization: ["secret"] };
  const shown = shownConfig({ ...fileDefaultConfig(), staticPodURLHeader: header });
  expect(JSON.stringify(shown)).not.toContain("secret");
  expect(shown).toMatchObject({ staticPodURLHeader: { Authorization: ["<masked>"] } });
});
