import type { Upgraded } from "../agent-client.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { remoteCommandProtocol, runRemoteCommand } from "../exec/remote-command.ts";
import { usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { chooseContainer, onlyPod, readPod } from "../pod-argument.ts";

const usage = "exec POD [-c CONTAINER] [flags] -- COMMAND [ARGUMENT...]";

export const execCommand: Command = defineCommand({
  name: "exec",
  usage,
  summary: "Run a command in a container.",
  details: "The exit code is the command's own.",
  examples: [
    "berth exec web -- ls /",
    "berth exec -it web -c sidecar -- sh",
    "tar c . | berth exec -i web -- tar x -C /data",
  ],
  flags: {
    container: text("NAME", "Container of the pod.", { short: "c" }),
    stdin: toggle("Pass standard input on.", "i"),
    tty: toggle("Give the command a terminal.", "t"),
    namespace: namespaceFlag,
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, rest, terminal, signal }) => {
    const name = onlyPod(positionals, usage);
    if (rest === undefined || rest.length === 0) {
      throw usageError(`the command is missing: berth ${usage}`);
    }
    const { stdin, tty } = flags;
    const client = agentClient(flags["data-dir"], terminal);
    const pod = await readPod(client, flags.namespace ?? "default", name, signal);
    const query = {
      container: chooseContainer(pod, flags.container, terminal),
      command: rest,
      stdin: String(stdin),
      stdout: "true",
      // A terminal has one screen: the runtime sends both over stdout.
      stderr: String(!tty),
      tty: String(tty),
    };
    const upgrade = { what: "exec", query, protocol: remoteCommandProtocol } as const;
    const connect = (): Promise<Upgraded> => client.upgrade(pod, upgrade, signal);
    return runRemoteCommand(connect, { stdin, tty }, terminal, signal);
  },
});
