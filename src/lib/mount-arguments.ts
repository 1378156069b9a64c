// The command lines of mount(8), and what of them may be shown.

/** One mount, as mount(8) takes it. */
export interface MountArguments {
  /** "" where there is none, as for a remount. */
  readonly source: string;
  readonly target: string;
  /** "" lets the kernel find out. */
  readonly fileSystem: string;
  readonly options: readonly string[];
  /** Options that are never shown, such as passwords. */
  readonly secretOptions?: readonly string[] | undefined;
  /** Flags of mount(8) itself. */
  readonly flags?: readonly string[] | undefined;
}

/** A command line with the text that stands for its arguments in errors and logs. */
export interface ShownCommand {
  readonly argv: readonly string[];
  readonly shownArguments: string;
}

interface BindOptions {
  readonly isBind: boolean;
  /** For the bind itself, which takes hardly any option. */
  readonly bind: readonly string[];
  /** For the remount that gives the bind the other options. */
  readonly remount: readonly string[];
  readonly remountSecret: readonly string[];
}

const masked = "<masked>";

/** The flags of a mount as statfs(2) reports them, by the options that the mount table shows. */
const statfsFlags: ReadonlyMap<string, number> = new Map([
  ["ro", 1],
  ["nosuid", 2],
  ["nodev", 4],
  ["noexec", 8],
  ["noatime", 1024],
  ["nodiratime", 2048],
  ["relatime", 4096],
]);

/**
 * The kernel forgets these of the source when a bind is remounted, unless they are named again. As in a kubelet the numbers
 * are those of mount(2): they are the same but for relatime, which is the kernel's default and so never named.
 */
const carriedFlags: readonly (readonly [number, string])[] = [
  [1024, "noatime"],
  [4, "nodev"],
  [2048, "nodiratime"],
  [8, "noexec"],
  [2, "nosuid"],
  [2 ** 21, "relatime"],
  [1, "ro"],
];

export function mountCommand(mount: MountArguments): ShownCommand {
  const { source, target, fileSystem, options, secretOptions = [], flags = [] } = mount;
  const argv = ["mount", ...flags];
  let shown = flags.join(" ");
  if (fileSystem !== "") {
    argv.push("-t", fileSystem);
    // The flags appear twice, as in the kubelet's messages.
    shown += argv.slice(1).join(" ");
  }
  if (options.length + secretOptions.length > 0) {
    argv.push("-o", [...options, ...secretOptions].join(","));
    shown += ` -o ${shownMountOptions(options, secretOptions)}`;
  }
  if (source !== "") {
    argv.push(source);
    shown += ` ${source}`;
  }
  argv.push(target);
  return { argv, shownArguments: `${shown} ${target}` };
}

export function shownMountOptions(
  options: readonly string[],
  secretOptions: readonly string[],
): string {
  return [...options, ...secretOptions.map(() => masked)].join(",");
}

/** The same command, run by another program that is given it as arguments. */
export function runBy(program: string, { argv, shownArguments }: ShownCommand): ShownCommand {
  return { argv: [program, ...argv], shownArguments: `${argv[0]} ${shownArguments}` };
}

/** The same command in a scope of systemd's own: what it starts, such as a FUSE server, outlives the agent. */
export function inSystemdScope(target: string, command: ShownCommand): ShownCommand {
  const scope = [`--description=Kubernetes transient mount for ${target}`, "--scope", "--"];
  const [program = "", ...args] = command.argv;
  return {
    argv: ["systemd-run", ...scope, program, ...args],
    shownArguments: [...scope, program, command.shownArguments].join(" "),
  };
}

/** A bind takes two mounts: one that binds, and one that changes the options of the result. */
export function bindOptions(
  options: readonly string[],
  secretOptions: readonly string[],
): BindOptions {
  const all = [...options, ...secretOptions];
  const isOther = (option: string): boolean => option !== "bind" && option !== "remount";
  return {
    isBind: all.includes("bind"),
    // Known to programs only: the kernel does not take it over from the source.
    bind: all.includes("_netdev") ? ["bind", "_netdev"] : ["bind"],
    remount: ["bind", "remount", ...options.filter(isOther)],
    remountSecret: secretOptions.filter(isOther),
  };
}

export function statfsFlagsOf(mountOptions: readonly string[]): number {
  return mountOptions.reduce((flags, option) => flags | (statfsFlags.get(option) ?? 0), 0);
}

/** The options that a remount of a bind has to name again, by the flags of its source; sorted. */
export function carriedBindOptions(flags: number): readonly string[] {
  return carriedFlags.filter(([flag]) => (flags & flag) !== 0).map(([, option]) => option);
}
