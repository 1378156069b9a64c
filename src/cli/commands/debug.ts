import type { ContainerStatus, EphemeralContainer } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { AgentClient, Upgraded } from "../agent-client.ts";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { remoteCommandProtocol, runRemoteCommand } from "../exec/remote-command.ts";
import { CliError, exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { onlyPod, readPod } from "../pod-argument.ts";
import type { Terminal } from "../terminal.ts";

const usage = "debug POD --image IMAGE [--target CONTAINER] [flags] [-- COMMAND [ARGUMENT...]]";

/** Letters and digits that form no words. */
const nameCharacters = "bcdfghjklmnpqrstvwxz2456789";

const flags = {
  image: text("IMAGE", "Image of the container to add."),
  target: text("CONTAINER", "See the processes of this container."),
  container: text("NAME", "Name of the container to add (default debugger-xxxxx).", { short: "c" }),
  "image-pull-policy": text("POLICY", "When to pull the image.", {
    choices: ["Always", "IfNotPresent", "Never"],
  }),
  stdin: toggle("Pass standard input on, and attach to the container.", "i"),
  tty: toggle("Give the container a terminal.", "t"),
  namespace: namespaceFlag,
  "data-dir": dataDirFlag,
};

type Debug = Invocation<typeof flags>;

export const debugCommand: Command = defineCommand({
  name: "debug",
  usage,
  summary: "Add a container to a running pod, to look around in it.",
  details: [
    "The container shares the pod's network and, with --target, the processes of another container. With -i the",
    "command attaches to it; without, it only starts it. It stays in the pod until the pod ends.",
  ].join("\n"),
  examples: [
    "berth debug web --image busybox -it -- sh",
    "berth debug web --image busybox --target main -- ps",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    const name = onlyPod(positionals, usage);
    const container = debugContainer(invocation);
    const client = agentClient(flags["data-dir"], terminal);
    const pod = await readPod(client, flags.namespace ?? "default", name, signal);
    if (flags.container === undefined) {
      terminal.note(`Defaulting debug container name to ${container.name}.`);
    }
    const changed = await client.addEphemeralContainer(pod, container, signal);
    return flags.stdin ? attach(client, changed, container, invocation) : exitCodes.ok;
  },
});

function debugContainer({ flags, rest }: Debug): EphemeralContainer {
  const { image, target, container, stdin, tty } = flags;
  if (image === undefined) throw usageError(`--image is missing: berth ${usage}`);
  if (tty && !stdin) throw usageError("-t needs -i: a terminal without input is of no use");
  return {
    name: container ?? `debugger-${randomSuffix()}`,
    image,
    imagePullPolicy: flags["image-pull-policy"],
    command: rest,
    targetContainerName: target,
    stdin: stdin || undefined,
    tty: tty || undefined,
  };
}

function randomSuffix(): string {
  const letter = (): string =>
    nameCharacters.charAt(Math.floor(Math.random() * nameCharacters.length));
  return Array.from({ length: 5 }, letter).join("");
}

async function attach(
  client: AgentClient,
  pod: Pod,
  { name }: EphemeralContainer,
  { flags, terminal, signal }: Debug,
): Promise<number> {
  const { terminated } = await untilStarted(client, pod, name, { terminal, signal });
  if (terminated !== undefined) {
    for await (const chunk of await client.openLog(pod, { container: name }, signal)) {
      terminal.stdout.write(chunk);
    }
    return terminated.exitCode;
  }
  const { stdin, tty } = flags;
  if (tty) terminal.note("If you don't see a command prompt, try pressing enter.");
  const query = {
    container: name,
    stdin: "true",
    stdout: "true",
    stderr: String(!tty),
    tty: String(tty),
  };
  const upgrade = { what: "attach", query, protocol: remoteCommandProtocol } as const;
  const connect = (): Promise<Upgraded> => client.upgrade(pod, upgrade, signal);
  return runRemoteCommand(connect, { stdin, tty }, terminal, signal);
}

/** The container's state once it runs or has run; reports meanwhile why it does not yet. */
async function untilStarted(
  client: AgentClient,
  { metadata }: Pod,
  name: string,
  { terminal, signal }: { readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<NonNullable<ContainerStatus["state"]>> {
  const query = { fieldSelector: `metadata.uid=${metadata.uid}` };
  let reported = "";
  for await (const change of client.watchPods(undefined, query, signal)) {
    if (change.type === "DELETED") break;
    const statuses = change.pod.status?.ephemeralContainerStatuses ?? [];
    const state = statuses.find((status) => status.name === name)?.state;
    if (state?.running !== undefined || state?.terminated !== undefined) return state;
    const { reason = "", message = "" } = state?.waiting ?? {};
    if (message !== "" && message !== reported) terminal.note(`waiting: ${reason}: ${message}`);
    reported = message;
  }
  throw new CliError(`pod "${metadata.name}" ended before container "${name}" started`);
}
