// The disk, kernel and key of the virtual machine: Debian 13 by debootstrap, made once for each recipe and kept in
// ~/.cache/berth/machine-HASH. Runs write to copies.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../src/drivers/containerd/managed-containerd.ts";

const cache = join(homedir(), ".cache", "berth");
const diskBytes = "6G";

const packages = [
  ["systemd", "systemd-sysv", "libpam-systemd", "udev", "dbus", "polkitd", "openssh-server"],
  ["linux-image-cloud-amd64", "initramfs-tools", "zstd", "kmod", "procps", "psmisc", "strace"],
  ["containerd", "runc", "crun", "containernetworking-plugins", "catatonit", "busybox-static"],
  ["iptables", "nftables", "iproute2", "util-linux-extra", "numactl", "apparmor", "openssl"],
  ["e2fsprogs", "xfsprogs", "nfs-common", "nfs-kernel-server", "docker-registry"],
  // What Node.js is linked with.
  ["libstdc++6", "libatomic1", "ca-certificates"],
].flat();

/** From the release after it, which lie apart: a guest chooses by its PATH. */
const newer = { suite: "forky", packages: ["containerd", "runc"], folder: "/opt/newer" };

/** Started by the tests alone, or not needed. */
const maskedUnits = [
  ["docker-registry.service", "nfs-server.service", "nfs-blkmap.service", "rpcbind.socket"],
  ["rpcbind.service", "rpc-statd-notify.service", "serial-getty@.service", "getty@.service"],
  ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"],
  ["e2scrub_all.timer", "e2scrub_reap.service", "systemd-networkd-wait-online.service"],
].flat();

/** Of version 2: newer ones read it as well. Which runc it starts is a matter of its PATH. */
const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${MANAGED_CONTAINERD_DEFAULTS.sandboxImage}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`;

const podNetwork = {
  cniVersion: "1.0.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: "10.88.0.0/16" }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
};

const files = {
  "/etc/containerd/config.toml": containerdConfig,
  "/etc/cni/net.d/10-pods.conflist": JSON.stringify(podNetwork),
  "/etc/hostname": "machine\n",
  "/etc/hosts": "127.0.0.1 localhost\n10.0.2.15 machine\n::1 localhost\n",
  "/etc/resolv.conf": "nameserver 10.0.2.3\n",
  "/etc/fstab": "/dev/vda / ext4 defaults 0 0\nLABEL=work /work ext4 defaults 0 0\n",
  "/etc/systemd/network/10-lan.network":
    "[Match]\nName=en* eth*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n",
  "/etc/ssh/sshd_config.d/tests.conf": "UseDNS no\nPermitRootLogin yes\nMaxSessions 50\n",
  "/etc/modules-load.d/tests.conf": "overlay\nbr_netfilter\nloop\nnf_tables\n",
};

export interface GuestImage {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
  /** What lets a run in as root. */
  readonly key: string;
}

/** The image of this recipe; made first unless it was before. */
export function guestImage(say: (text: string) => void): GuestImage {
  const folder = join(cache, `machine-${recipeHash()}`);
  if (!existsSync(folder)) build(folder, say);
  const [disk = "", kernel = "", initrd = "", key = ""] = ["disk", "kernel", "initrd", "key"].map(
    (name) => join(folder, name),
  );
  return { disk, kernel, initrd, key };
}

function recipeHash(): string {
  const recipe = { packages, newer, maskedUnits, files, diskBytes, node: process.version };
  return createHash("sha256").update(JSON.stringify(recipe)).digest("hex").slice(0, 12);
}

/** Made beside its place and then renamed: what is there is whole. */
function build(folder: string, say: (text: string) => void): void {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "building-machine-"));
  const root = join(draft, "root");
  try {
    say("making the guest: Debian 13 by debootstrap, which takes some minutes");
    const included = `--include=${packages.join(",")}`;
    // In a mount namespace of its own: what it mounts in the folder goes with it.
    const make = ["debootstrap", "--variant=minbase", included, "trixie", root];
    run("unshare", ["--mount", "--", ...make]);
    say(`adding ${newer.packages.join(", ")} of Debian ${newer.suite}`);
    addNewer(root);
    say("writing its disk");
    setUp(root, draft);
    copyBoot(root, draft);
    makeDisk({ from: root, label: "root", size: diskBytes, to: join(draft, "disk") });
    rmSync(root, { recursive: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A file that holds an ext4 file system with all of a folder. */
export function makeDisk(disk: {
  readonly from: string;
  readonly label: string;
  readonly size: string;
  readonly to: string;
}): void {
  run("mke2fs", ["-q", "-t", "ext4", "-L", disk.label, "-d", disk.from, disk.to, disk.size]);
}

function addNewer(root: string): void {
  const place = join(root, newer.folder);
  const lists = `${newer.folder}/lists`;
  mkdirSync(join(root, lists, "partial"), { recursive: true });
  const keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  const source = `deb [signed-by=${keys}] ${mirrorOf(root)} ${newer.suite} main\n`;
  writeFileSync(join(place, "sources.list"), source);
  const options = {
    "Dir::Etc::sourcelist": `${newer.folder}/sources.list`,
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": lists,
    "APT::Sandbox::User": "root",
    // A mirror that stands still serves as well; what it signed is checked.
    "Acquire::Check-Valid-Until": "false",
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  run("chroot", [root, "apt-get", ...flags, "-qq", "update"]);
  const fetch = ["env", `--chdir=${newer.folder}`, "apt-get", ...flags, "-qq", "download"];
  run("chroot", [root, ...fetch, ...newer.packages]);
  for (const name of readdirSync(place).filter((entry) => entry.endsWith(".deb"))) {
    run("dpkg-deb", ["-x", join(place, name), place]);
    rmSync(join(place, name));
  }
  rmSync(join(root, lists), { recursive: true });
}

/** Where debootstrap has its packages from. */
function mirrorOf(root: string): string {
  const [, mirror] =
    /^deb (\S+) /m.exec(readFileSync(join(root, "etc/apt/sources.list"), "utf8")) ?? [];
  if (mirror === undefined) throw new Error("debootstrap left no mirror in /etc/apt/sources.list");
  return mirror;
}

function setUp(root: string, draft: string): void {
  for (const [path, text] of Object.entries(files)) write(join(root, path), text);
  // One that is there: a machine without one would set itself up again at every boot.
  write(join(root, "/etc/machine-id"), `${randomBytes(16).toString("hex")}\n`);
  mkdirSync(join(root, "work"));
  const key = join(draft, "key");
  run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "berth-machine", "-f", key]);
  mkdirSync(join(root, "root/.ssh"), { mode: 0o700, recursive: true });
  write(join(root, "root/.ssh/authorized_keys"), readFileSync(`${key}.pub`, "utf8"));
  copyFileSync(process.execPath, join(root, "usr/local/bin/node"));
  mkdirSync(join(root, "opt/crun"));
  symlinkSync("/usr/bin/crun", join(root, "opt/crun/runc"));
  run("chroot", [root, "systemctl", "enable", "systemd-networkd.service", "ssh.service"]);
  // Which one, and with which settings, is chosen when it has booted.
  run("chroot", [root, "systemctl", "disable", "containerd.service", "nftables.service"]);
  for (const unit of maskedUnits) {
    const file = join(root, "etc/systemd/system", unit);
    rmSync(file, { force: true });
    symlinkSync("/dev/null", file);
  }
  rmSync(join(root, "var/cache/apt/archives"), { recursive: true });
  rmSync(join(root, "var/lib/apt/lists"), { recursive: true });
}

function copyBoot(root: string, draft: string): void {
  const boot = join(root, "boot");
  const names = readdirSync(boot);
  for (const [beginning, name] of [
    ["vmlinuz-", "kernel"],
    ["initrd.img-", "initrd"],
  ] as const) {
    const found = names.find((entry) => entry.startsWith(beginning));
    if (found === undefined) throw new Error(`the guest has no /boot/${beginning}*`);
    copyFileSync(join(boot, found), join(draft, name));
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, text);
}

/** Runs a program; its output is shown only when it fails. */
function run(program: string, args: readonly string[]): void {
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" };
    execFileSync(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env,
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const words = `${stdout}${stderr}`.trim().split("\n").slice(-15).join("\n");
    throw new Error(`${program} failed: ${words}`, { cause: error });
  }
}
