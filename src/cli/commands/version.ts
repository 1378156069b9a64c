import { berthBuiltAs, berthCommit, berthVersion } from "../../lib/version.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { CliError, exitCodes } from "../exit.ts";
import { text, toggle } from "../flags.ts";

export const versionCommand: Command = defineCommand({
  name: "version",
  usage: "version [flags]",
  summary: "Print the version of this command and of the running agent.",
  details: "",
  examples: ["berth version", "berth version -o json"],
  flags: {
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    licenses: toggle("Print the licences of what the executable carries."),
    sbom: toggle("Print the bill of materials of the executable (CycloneDX)."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, terminal, signal }) => {
    if (flags.licenses || flags.sbom) {
      const name = flags.sbom ? "sbom.cdx.json" : "THIRD-PARTY-LICENSES";
      const { carriedDocument } = await import("../../app/program-parts.ts");
      const document = carriedDocument(name);
      if (document === undefined) {
        const message = `only the executable carries its ${name}: this one comes from ${berthBuiltAs}, whose package has it as a file`;
        throw new CliError(message, exitCodes.failed);
      }
      terminal.out(document);
      return exitCodes.ok;
    }
    const client = agentClient(flags["data-dir"], terminal);
    const agent = await client.readInfo(signal).catch((error: unknown) => {
      if (error instanceof CliError) return undefined;
      throw error;
    });
    if (flags.output === "json") {
      const own = { version: berthVersion, commit: berthCommit, node: process.version };
      const shown = { ...own, builtAs: berthBuiltAs, agent };
      terminal.out(`${JSON.stringify(shown, null, 4)}\n`);
      return exitCodes.ok;
    }
    terminal.out(
      `berth ${berthVersion} (commit ${berthCommit}, from ${berthBuiltAs}, Node ${process.version})\n`,
    );
    terminal.out(
      agent === undefined
        ? "agent: not running\n"
        : `agent: ${agent.version} on ${agent.nodeName}, ${agent.runtime}, events from ${agent.observer}\n`,
    );
    return exitCodes.ok;
  },
});
