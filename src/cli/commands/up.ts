import { defaultPodPids } from "../../app/up-defaults.ts";
import { agentLog, logFormatFlag, logLevelFlag } from "../agent-log.ts";
import type { Command } from "../command.ts";
import { chooseDataDir, dataDirFlag, onlyFilename } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { list, text, toggle, toggleOff } from "../flags.ts";
import { useLittleMemory } from "../little-memory.ts";
import { forbidDebugger } from "../no-debugger.ts";
import { uiFlags } from "../ui-flags.ts";

export const upCommand: Command = defineCommand({
  name: "up",
  usage: "up [-f PATH] [flags]",
  summary: "Run the agent: the pods of a manifest folder, on a containerd of its own.",
  details: [
    "Runs in the foreground until Ctrl-C or SIGTERM. The pods go on running then, and the next start takes",
    "them over; --down-on-exit or `berth down` removes them. Manifests are picked up as they change.",
  ].join("\n"),
  examples: [
    "berth up -f ./pods",
    "berth up -f ./pods --down-on-exit",
    "berth up --manifest-url http://127.0.0.1:8000/pods.yaml",
    "berth up -f ./pods --runtime-endpoint unix:///run/containerd/containerd.sock",
  ],
  flags: {
    filename: list(
      "PATH",
      "Folder of manifests, or one manifest (default DATA-DIR/manifests).",
      "f",
    ),
    "manifest-url": text("URL", "Read a pod or a list of pods from here as well."),
    "manifest-url-header": text("NAME:VALUE", "Header for the manifest URL; several by commas."),
    "http-check-frequency": text("DURATION", "How often the URL is read (default 20s)."),
    "file-check-frequency": text(
      "DURATION",
      "How often files are read again anyway (default 20s).",
    ),
    "data-dir": dataDirFlag,
    "runtime-endpoint": text("URL", "Use this CRI socket instead of a containerd of Berth's own."),
    "node-name": text("NAME", "Name of this node (default the host name)."),
    "cgroup-root": text("PATH", "The cgroup below which all pods lie."),
    bridge: text("NAME", "Bridge of the pods' network (default berth0)."),
    subnet: text("CIDR", "IPv4 network of the pods (default 10.88.0.0/16)."),
    "container-log-max-size": text("SIZE", "Rotate container logs of that size (default 10Mi)."),
    "container-log-max-files": text("COUNT", "Log files kept of each container (default 5)."),
    "allowed-unsafe-sysctls": text(
      "NAMES",
      "Sysctls and patterns (net.*) that pods may set beside the safe ones; several by commas.",
    ),
    "seccomp-default": toggleOff(
      "Leave containers without a seccomp profile unconfined, instead of by the runtime's own (RuntimeDefault).",
    ),
    "pod-max-pids": text(
      "COUNT",
      `Processes of a pod at most (default ${defaultPodPids}; -1 = any number).`,
    ),
    "eviction-hard": text(
      "LIMITS",
      'End pods when less is left: "memory.available<500Mi,nodefs.available<5%", or "none" (default as a kubelet).',
    ),
    "history-max-size": text("SIZE", "Keep at most so much of what happened (default 64Mi)."),
    "history-max-age": text("DURATION", "Keep what happened for at most so long (default 168h)."),
    ...uiFlags,
    "down-on-exit": toggle("Remove all pods and everything else when the agent ends."),
    "image-credential-provider-config": text(
      "PATH",
      "CredentialProviderConfig file, or folder of such files.",
    ),
    "image-credential-provider-bin-dir": text("PATH", "Folder of the credential providers."),
    "max-parallel-image-pulls": text("COUNT", "Images pulled at once (default 4)."),
    "serialize-image-pulls": toggle("Pull one image at a time."),
    "registry-qps": text("COUNT", "Pulls begun per second (default 5; 0 = any number)."),
    "registry-burst": text("COUNT", "Pulls begun at once beyond that (default 10)."),
    "log-level": logLevelFlag,
    "log-format": logFormatFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    if (positionals.length > 0) {
      throw usageError(`up takes no argument "${positionals[0]}": give manifests with -f PATH`);
    }
    const manifests = onlyFilename(flags.filename);
    const log = await agentLog(
      { level: flags["log-level"], format: flags["log-format"] },
      terminal,
    );
    await forbidDebugger(log);
    useLittleMemory();
    const { parseUp } = await import("../../app/up-options.ts");
    const parsed = parseUp({
      dataDir: chooseDataDir(flags["data-dir"], terminal),
      manifests,
      manifestUrl: flags["manifest-url"],
      manifestUrlHeader: flags["manifest-url-header"],
      httpCheckFrequency: flags["http-check-frequency"],
      fileCheckFrequency: flags["file-check-frequency"],
      runtimeEndpoint: flags["runtime-endpoint"],
      nodeName: flags["node-name"],
      cgroupRoot: flags["cgroup-root"],
      bridge: flags.bridge,
      subnet: flags.subnet,
      containerLogMaxSize: flags["container-log-max-size"],
      containerLogMaxFiles: flags["container-log-max-files"],
      credentialProviderConfig: flags["image-credential-provider-config"],
      credentialProviderBinDir: flags["image-credential-provider-bin-dir"],
      maxParallelImagePulls: flags["max-parallel-image-pulls"],
      serializeImagePulls: flags["serialize-image-pulls"],
      registryQps: flags["registry-qps"],
      registryBurst: flags["registry-burst"],
      allowedUnsafeSysctls: flags["allowed-unsafe-sysctls"],
      seccompDefault: flags["seccomp-default"],
      podMaxPids: flags["pod-max-pids"],
      evictionHard: flags["eviction-hard"],
      historyMaxSize: flags["history-max-size"],
      historyMaxAge: flags["history-max-age"],
      ui: flags.ui,
      uiTerminal: flags["ui-terminal"],
      uiAllowNetwork: flags["ui-allow-network"],
      downOnExit: flags["down-on-exit"],
    });
    if (!parsed.ok) throw usageError(parsed.error);
    const setup = parsed.value;
    const onReady = (): void => log.info("the agent is up", { dataDir: setup.dataDir });
    const { runUp } = await import("../../app/up.ts");
    await runUp(setup, log, onReady, signal);
    return exitCodes.ok;
  },
});
