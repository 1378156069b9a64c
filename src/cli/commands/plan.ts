import type { Command } from "../command.ts";
import { chooseDataDir, dataDirFlag, onlyFilename } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { list, text } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { isAccepted, renderPlan } from "../plan/render-plan.ts";

const usage = "plan -f PATH [flags]";

export const planCommand: Command = defineCommand({
  name: "plan",
  usage,
  summary: "Show what would be done with a manifest here, without doing it.",
  details:
    "Shows for each document whether it is accepted, or what is wrong with it and where; which fields\n" +
    "are filled in; and the steps that start its pod. Needs neither the agent nor root.",
  examples: ["berth plan -f web.yaml", "berth plan -f ./pods", "berth plan -f web.yaml -o json"],
  flags: {
    filename: list("PATH", "Manifest, or folder of manifests.", "f"),
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "node-name": text("NAME", "Name of this node (default the host name)."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal }) => {
    const path = onlyFilename(flags.filename);
    if (path === undefined || positionals.length > 0) {
      throw usageError(`say which manifest with -f: berth ${usage}`);
    }
    const { planManifest } = await import("../../app/plan-manifest.ts");
    const plan = await planManifest({
      path,
      dataDir: chooseDataDir(flags["data-dir"], terminal),
      nodeName: flags["node-name"],
    });
    terminal.out(
      flags.output === "json"
        ? `${JSON.stringify(plan, null, 4)}\n`
        : renderPlan(plan, painter(terminal.colours)),
    );
    return isAccepted(plan) ? exitCodes.ok : exitCodes.failed;
  },
});
