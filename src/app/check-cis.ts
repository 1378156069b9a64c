// `berth check --cis`: the CIS benchmark's node section on this machine and a configuration.
import { resolve } from "node:path";
import type { CisFacts, CisResult, KubeletFacts } from "../config/cis/cis-facts.ts";
import { judgeCis } from "../config/cis/judge-cis.ts";
import { parseCommandLine } from "../config/flags/command-line.ts";
import { findProxyKubeconfigs, findServiceFiles, lookAtFile } from "../drivers/linux/file-facts.ts";
import { SetupError } from "../lib/setup-error.ts";
import { cipherList } from "../server/kubelet/tls-settings.ts";
import { safeApiConfig } from "./kubelet-api-options.ts";
import { type JudgedSetup, judgeKubeletSetup, listConfigFolder } from "./kubelet-setup.ts";
import { defaultPodPids, defaultSeccompDefault } from "./up-defaults.ts";

/**
 * Judges `berth kubelet` with these arguments, or without any `berth up` with its defaults. Throws a SetupError that names what
 * cannot be read. `root` is where the machine's files lie.
 */
export function checkCis(
  kubeletArguments: readonly string[] | undefined,
  root = "/",
): readonly CisResult[] {
  const setup = kubeletArguments === undefined ? undefined : readSetup(kubeletArguments);
  return judgeCis({
    files: {
      service: findServiceFiles(root),
      proxyKubeconfig: findProxyKubeconfigs(root),
      ...(setup === undefined ? noFiles : namedFiles(setup)),
    },
    agent:
      setup === undefined
        ? { kind: "up", seccompDefault: defaultSeccompDefault, podPidsLimit: defaultPodPids }
        : kubeletFacts(setup),
  });
}

type NamedFiles = Pick<CisFacts["files"], "kubeconfig" | "clientCa" | "config">;

const noFiles: NamedFiles = { kubeconfig: [], clientCa: [], config: [] };

function readSetup(args: readonly string[]): JudgedSetup {
  const commandLine = parseCommandLine(args);
  if (!commandLine.ok) throw new SetupError(commandLine.error, "give the flags of berth kubelet");
  return judgeKubeletSetup(commandLine.value);
}

function namedFiles({ config, settings }: JudgedSetup): NamedFiles {
  const look = (path: string): CisFacts["files"]["config"] =>
    path === "" ? [] : [lookAtFile(resolve(path))];
  const folder = settings.get("config-dir") ?? "";
  const dropIns = folder === "" ? [] : listConfigFolder(resolve(folder));
  return {
    kubeconfig: look(settings.get("kubeconfig") ?? ""),
    clientCa: look(config.authentication.x509.clientCAFile),
    config: [
      ...look(settings.get("config") ?? ""),
      ...dropIns.filter((path) => path.endsWith(".conf")).map(lookAtFile),
    ],
  };
}

function kubeletFacts(setup: JudgedSetup): KubeletFacts {
  const { settings, gates } = setup;
  const { config } = safeApiConfig(setup);
  return {
    kind: "kubelet",
    config,
    gates,
    hasCluster: (settings.get("kubeconfig") ?? "") !== "",
    hostnameOverride: settings.get("hostname-override") ?? "",
    seccompDefault: config.seccompDefault || settings.get("seccomp-default") === "true",
    cipherSuites: cipherList(config.tlsCipherSuites ?? []).split(":"),
  };
}
