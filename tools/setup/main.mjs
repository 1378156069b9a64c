// Makes a Debian machine ready for the demo or the tests: installs what is missing, skips what is there.
// usage: node tools/setup/main.mjs [build|demo|test|suites|machine]
// Plain JavaScript, as it runs before any npm package is installed.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const binFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const cniFolders = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];

const tests = ["test", "suites"];

/** Each package with the files of which one shows that it, or an equal from elsewhere, is installed, and the modes that need it. */
const packages = [
  { name: "containerd", files: programs("containerd") },
  { name: "runc", files: programs("runc") },
  { name: "containernetworking-plugins", files: cniFolders.map((folder) => `${folder}/bridge`) },
  { name: "iptables", files: programs("iptables") },
  { name: "iproute2", files: programs("ip") },
  { name: "catatonit", files: programs("catatonit") },
  { name: "busybox-static", files: ["/usr/share/doc/busybox-static"] },
  // Its package brings a service on all addresses; the tests start the program themselves.
  { name: "docker-registry", files: programs("docker-registry"), modes: tests, unwanted: true },
  // What the CSI driver of the tests formats volumes with.
  { name: "e2fsprogs", files: programs("mkfs.ext4"), modes: [...tests, "machine"] },
  { name: "xfsprogs", files: programs("mkfs.xfs"), modes: tests },
  { name: "openssl", files: programs("openssl"), modes: tests },
  // The shells whose completion is tested, and a clean Debian to install packages in.
  { name: "zsh", files: programs("zsh"), modes: tests },
  { name: "fish", files: programs("fish"), modes: tests },
  { name: "debootstrap", files: programs("debootstrap"), modes: [...tests, "machine"] },
  // The browser in which the page is tested.
  { name: "chromium", files: programs("chromium"), modes: tests },
  // For systemd-notify alone.
  { name: "systemd", files: programs("systemd-notify"), modes: tests },
  // For the images of Kubernetes' own suites: a shell that keeps every variable of the environment, and what the specs call.
  { name: "bash-static", files: programs("bash-static"), modes: ["suites"] },
  { name: "curl", files: programs("curl"), modes: ["suites"] },
  { name: "netcat-openbsd", files: programs("nc.openbsd"), modes: ["suites"] },
  { name: "qemu-system-x86", files: programs("qemu-system-x86_64"), modes: ["machine"] },
  { name: "openssh-client", files: programs("ssh"), modes: ["machine"] },
];

function programs(name) {
  return binFolders.map((folder) => join(folder, name));
}

function fail(problem, fix) {
  console.error(`setup: ${problem}: ${fix}`);
  process.exit(1);
}

function say(text) {
  console.log(`setup: ${text}`);
}

/** Runs a program; its output is shown only when it fails. */
function run(program, args, env = {}) {
  const result = spawnSync(program, args, {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 64 * 1024 * 1024,
  });
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}`;
  return { ok: result.status === 0, output };
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Node ${process.versions.node} is too old`, "install Node 20.19 or newer");
  }
}

/** A masked service is not started when its package is installed. */
function maskService(name) {
  const folder = "/etc/systemd/system";
  mkdirSync(folder, { recursive: true });
  const unit = join(folder, `${name}.service`);
  if (!existsSync(unit)) symlinkSync("/dev/null", unit);
}

function installPackages(mode) {
  const absent = packages
    .filter(({ modes = ["demo", ...tests] }) => modes.includes(mode))
    .filter(({ files }) => !files.some((file) => existsSync(file)));
  const missing = absent.map(({ name }) => name);
  if (missing.length === 0) {
    say("all programs are installed");
    return;
  }
  const list = missing.join(" ");
  if (!programs("apt-get").some((file) => isExecutable(file))) {
    fail("this is not a Debian machine (there is no apt-get)", `install these yourself: ${list}`);
  }
  if (process.geteuid?.() !== 0) {
    fail(`installing ${list} needs root`, "run this again as root (sudo)");
  }
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  say(`installing ${list}`);
  for (const { name, unwanted = false } of absent) if (unwanted) maskService(name);
  const update = run("apt-get", ["update", "-qq"], env);
  const install = run(
    "apt-get",
    ["install", "-y", "-qq", "--no-install-recommends", ...missing],
    env,
  );
  if (install.ok) return;
  const words = (install.output + (update.ok ? "" : update.output)).trim().split("\n").slice(-8);
  console.error(words.join("\n"));
  fail(
    `apt-get could not install ${list}`,
    "check that the network and Debian's packages can be reached",
  );
}

function installModules() {
  const marker = join(root, "node_modules", ".package-lock.json");
  const lock = join(root, "package-lock.json");
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(lock).mtimeMs) {
    say("all npm packages are installed");
    return;
  }
  say("installing npm packages");
  // Not `npm ci`: it insists on the tools' builds for every other platform, which not every mirror has.
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
  const install = run("npm", ["install", ...flags]);
  if (install.ok) return;
  console.error(install.output.trim().split("\n").slice(-12).join("\n"));
  fail("npm install failed", "check that npm is installed and its registry can be reached");
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const [mode = "demo", ...rest] = process.argv.slice(2);
if (!["build", "demo", "test", "suites", "machine"].includes(mode) || rest.length > 0) {
  console.error("usage: node tools/setup/main.mjs [build|demo|test|suites|machine]");
  process.exit(2);
}
if (process.platform !== "linux")
  fail(`containers need Linux, not ${process.platform}`, "use a Linux machine");
checkNode();
// To build it takes no containers.
if (mode !== "build") installPackages(mode);
installModules();
say("ready");
