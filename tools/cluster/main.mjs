// Builds the control plane of the cluster tests, the Go kubelet they compare with, a CSI driver with its examiner, device
// plugins, a DRA driver, a client of the pod resources API and a containerd that knows CDI devices, from their Go modules. Kept in ~/.cache/berth/NAME-VERSION between runs. The first build takes ten minutes or more on two cores.
// usage: node tools/cluster/main.mjs            builds what is not built
//        node tools/cluster/main.mjs suites     also what `npm run conformance` needs, which takes as long again
//        node tools/cluster/main.mjs file NAME  prints where a program is, built or not
// Exit code 3: there is no Go here to build with. Plain JavaScript, as tools/check runs it.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const cache = join(homedir(), ".cache", "berth");
const versions = {
  ...JSON.parse(readFileSync(join(folder, "versions.json"), "utf8")),
  "csi-driver": sourcesHash("csi-driver"),
  "device-programs": sourcesHash("device-programs"),
};
const progressEveryMs = 20_000;

/** The version of a program whose source is here. */
function sourcesHash(source) {
  const hash = createHash("sha256");
  for (const name of readdirSync(join(folder, source)).toSorted()) {
    hash.update(`${name}\n`).update(readFileSync(join(folder, source, name)));
  }
  return hash.digest("hex").slice(0, 12);
}

/** What `kubelet --version` and the API server's /version say. */
const versionFlags = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap(
  (name) => {
    const [major, minor] = versions.kubernetes.split(".");
    const values = { gitVersion: `v${versions.kubernetes}`, gitMajor: major, gitMinor: minor };
    return Object.entries(values).map(([key, value]) => `-X ${name}.${key}=${value}`);
  },
);

/** By name, with the folder of their source. */
const kubernetesPrograms = {
  "kube-apiserver": "cmd/kube-apiserver",
  kubelet: "cmd/kubelet",
  kubectl: "cmd/kubectl",
  "kube-controller-manager": "cmd/kube-controller-manager",
  "kube-scheduler": "cmd/kube-scheduler",
  kubeadm: "cmd/kubeadm",
  "sample-device-plugin": "test/images/sample-device-plugin",
};

/** The smallest first; what comes later shares most of its packages with what came before. */
const programs = [
  { name: "etcd", source: "etcd", main: "go.etcd.io/etcd/server/v3", flags: [] },
  ...Object.entries(kubernetesPrograms).map(([name, path]) => ({
    name,
    source: "kubernetes",
    main: `k8s.io/kubernetes/${path}`,
    flags: versionFlags,
  })),
  {
    name: "containerd",
    source: "containerd",
    main: "github.com/containerd/containerd/cmd/containerd",
    flags: [],
  },
  { name: "csi-driver", source: "csi-driver", main: ".", flags: [] },
  { name: "device-programs", source: "device-programs", main: ".", flags: [] },
  {
    name: "csi-sanity",
    source: "csi-sanity",
    main: "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity",
    flags: [],
  },
  ...[
    { name: "e2e.test", main: "k8s.io/kubernetes/test/e2e", isTest: true },
    { name: "e2e_node.test", main: "k8s.io/kubernetes/test/e2e_node", isTest: true },
    { name: "ginkgo", main: "github.com/onsi/ginkgo/v2/ginkgo" },
    { name: "agnhost", main: "k8s.io/kubernetes/test/images/agnhost" },
    { name: "nonewprivs", main: "k8s.io/kubernetes/test/images/nonewprivs" },
  ].map((program) => ({
    ...program,
    source: "kubernetes",
    flags: versionFlags,
    isForSuites: true,
  })),
].map((program) => ({
  ...program,
  file: join(cache, `${program.source}-${versions[program.source]}`, program.name),
}));

const [command, wanted] = process.argv.slice(2);
const withSuites = [command, wanted].includes("suites");

function missing() {
  return programs.filter(
    ({ file, isForSuites }) => (withSuites || !isForSuites) && !existsSync(file),
  );
}

function say(text) {
  console.log(`cluster: ${text}`);
}

function hasGo() {
  const { status, stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" });
  const [, major = 0, minor = 0] = /^go(\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  // From 1.21 on, Go fetches the release that a module asks for.
  return status === 0 && (Number(major) > 1 || Number(minor) >= 21);
}

/** Written beside its place and then renamed: what is there is whole. */
async function build({ name, source, main, flags, file, isTest }) {
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  const target = `${file}.part-${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  const linkFlags = ["-s", "-w", ...flags].join(" ");
  const verb = isTest ? ["test", "-c"] : ["build", "-v"];
  const args = [...verb, "-mod=readonly", "-trimpath", "-buildvcs=false"];
  const child = spawn("go", [...args, "-ldflags", linkFlags, "-o", target, main], {
    cwd: join(folder, source),
    env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "inherit", "pipe"],
  });
  let packages = 0;
  const words = [];
  child.stderr.setEncoding("utf8").on("data", (text) => {
    for (const line of text.split("\n")) {
      if (/^[\w./-]+$/.test(line)) packages += 1;
      else if (line !== "") words.push(line);
    }
  });
  say(`building ${name} ${versions[source]}`);
  const timer = setInterval(
    () => say(`building ${name}: ${packages} packages, ${seconds()}`),
    progressEveryMs,
  );
  const code = await new Promise((resolve) => {
    child.once("close", resolve);
    child.once("error", () => resolve(1));
  });
  clearInterval(timer);
  if (code !== 0) {
    rmSync(target, { force: true });
    console.error(words.slice(-20).join("\n"));
    say(`building ${name} failed: can Go's module proxy be reached?`);
    process.exit(1);
  }
  renameSync(target, file);
  say(`built ${name} in ${seconds()}`);
}

/** Runs this file again with the lock held, so that two runs at once build only once. */
function buildLocked() {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, "cluster.lock");
  const own = [process.execPath, fileURLToPath(import.meta.url)];
  const again = [...own, "locked", ...(withSuites ? ["suites"] : [])];
  const busyCode = 75;
  const flags = ["--nonblock", "--conflict-exit-code", String(busyCode), lock];
  const first = spawnSync("flock", [...flags, ...again], { stdio: "inherit" });
  if (first.status !== busyCode) return first.status ?? 1;
  say("another run builds already; waiting for it");
  return spawnSync("flock", [lock, ...again], { stdio: "inherit" }).status ?? 1;
}

if (command === "file") {
  const program = programs.find(({ name }) => name === wanted);
  if (program === undefined) throw new Error(`no program ${wanted}`);
  console.log(program.file);
} else if (command === "locked") {
  for (const program of missing()) await build(program);
} else if (missing().length === 0) {
  say(
    `Kubernetes ${versions.kubernetes}, etcd ${versions.etcd}, containerd, the CSI driver and the device programs are built`,
  );
} else if (hasGo()) {
  process.exitCode = buildLocked();
} else {
  process.exitCode = 3;
}
