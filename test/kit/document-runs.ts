// Which commands of the documents test/integration/documents.test.ts does not run as they stand, and why.

import type { DocumentCommand } from "./document-commands.ts";

interface NotRun {
  readonly command: RegExp;
  readonly because: string;
}

/** The first that matches counts. All others are run, and have to succeed. */
export const notRun: readonly NotRun[] = [
  { command: /^npm run package/, because: "test/integration/package-*.test.ts make packages" },
  {
    command: /^(sudo )?(npm|npx|node tools|node --cpu-prof)/,
    because: "a tool of this repository, with tests of its own",
  },
  { command: /^sudo npm install -g/, because: "test/integration/package-npm.test.ts installs it" },
  { command: /apt-get install/, because: "test/integration/package-debian.test.ts installs it" },
  {
    command: /berth-0\.1\.0-linux|SHA256SUMS/,
    because: "test/integration/package-executable.test.ts runs it",
  },
  {
    command: /^sudo (systemctl|journalctl)/,
    because: "no systemd runs where the tests do; test/machine has one",
  },
  {
    command: /\/etc\/systemd|\/usr\/local\/|\/etc\/berth/,
    because: "changes the machine of the tests",
  },
  {
    command: /^kubectl|berth kubelet|--data-dir \/var\/lib\/kubelet/,
    because: "needs a cluster: test/cluster",
  },
  {
    command: /check/,
    because: "its result is the machine's: test/integration/environment.test.ts, check-cis.test.ts",
  },
  { command: /dist\/berth\.js/, because: "the same as `berth`" },
  {
    command: / -w\b|logs .*-f\b/,
    because: "goes on until it is interrupted: test/integration/agent-commands.test.ts",
  },
  { command: /-it /, because: "needs a terminal: test/integration/exec.test.ts" },
  {
    command: /^source |~\//,
    because: "changes the user's shell: test/integration/completion.test.ts",
  },
  {
    command: /--runtime-endpoint|--image-credential-provider/,
    because:
      "needs a runtime or a provider of its own: test/integration/managed-containerd.test.ts, images-credentials.test.ts",
  },
  {
    command: /berth run/,
    because: "makes a node of its own: test/integration/run.test.ts",
  },
  { command: /berth sim/, because: "test/integration/sim.test.ts" },
  { command: /train\.yaml|last-year/, because: "an example of what happened on another machine" },
  {
    command: /--image busybox /,
    because:
      "pulls from a registry: docs/guides/debugging.md does the same with an image that is there",
  },
];

export function isRun({ text }: DocumentCommand): boolean {
  return notRun.every(({ command }) => !command.test(text));
}
