import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { commandTable } from "../../src/cli/command-table.ts";
import { completionScript } from "../../src/cli/completion/completion-script.ts";
import { buildProgram } from "../build.mjs";
import { bundledPackages } from "./bundled-packages.ts";
import { manPages } from "./man-pages.ts";
import {
  filesBelow,
  type PackageJob,
  putFile,
  readManifest,
  readRepositoryFile,
  repository,
  runTool,
  settle,
} from "./package-source.ts";
import { allLicences, billWithNode, type PackedNode, packedNode } from "./packed-node.ts";

const node = "/usr/lib/berth/node";
const bytesPerKibibyte = 1024;

/** Debian's names of what `berth up` starts; a runtime from elsewhere is as good. */
const depends = [
  "containerd | containerd.io",
  "runc | containerd.io | crun",
  "containernetworking-plugins | kubernetes-cni",
  "iptables",
  "iproute2",
  "catatonit | busybox-static",
];

/** For Debian 12 and newer. It carries its own Node, as Debian 12's is too old. */
export async function makeDebianPackage({
  folder,
  out,
  modifiedSeconds,
}: PackageJob): Promise<string> {
  const { name, version } = readManifest();
  const library = join(folder, "usr/lib/berth");
  const sources = await buildProgram({
    root: repository,
    outdir: library,
    builtAs: "the Debian package",
    interpreter: node,
    sourcemap: false,
  });
  const packed = packedNode();
  copyFileSync(packed.program, join(folder, node));
  mkdirSync(join(folder, "usr/bin"), { recursive: true });
  symlinkSync("../lib/berth/berth.js", join(folder, "usr/bin/berth"));
  putUnits(folder);
  putShellFiles(folder);
  putDocuments(folder, sources, packed, modifiedSeconds);
  const pods = join(folder, "etc/berth/pods");
  mkdirSync(pods, { recursive: true });
  const configurations = ["up.conf", "kubelet.conf"];
  for (const file of configurations) {
    putFile(join(folder, "etc/berth", file), readRepositoryFile(`packaging/debian/${file}`));
  }
  settle(folder, modifiedSeconds);
  const architecture = runTool("dpkg", ["--print-architecture"]).trim();
  const control = join(folder, "DEBIAN");
  const files = filesBelow(folder);
  putFile(join(control, "control"), controlFile(folder, files, architecture));
  putFile(
    join(control, "conffiles"),
    configurations.map((file) => `/etc/berth/${file}\n`).join(""),
  );
  putFile(join(control, "md5sums"), files.map((file) => checksumLine(folder, file)).join(""));
  for (const script of ["postinst", "prerm", "postrm"]) {
    putFile(join(control, script), readRepositoryFile(`packaging/debian/${script}`), 0o755);
  }
  settle(folder, modifiedSeconds);
  const file = resolve(out, `${name}_${version}_${architecture}.deb`);
  // A twentieth of the time that xz takes, for a tenth more bytes. Debian 12's dpkg reads it.
  const compression = ["-Zzstd", "-z12", "--threads-max=1"];
  const flags = ["--root-owner-group", ...compression, "--build", folder, file];
  runTool("dpkg-deb", flags, { SOURCE_DATE_EPOCH: String(modifiedSeconds) });
  return file;
}

/** The units of a clone, with the program where the package puts it and with the flags in /etc/berth. */
function putUnits(folder: string): void {
  const units = join(folder, "usr/lib/systemd/system");
  const own = (text: string) => text.replaceAll("/usr/local/bin/berth", "/usr/bin/berth");
  putFile(join(units, "berth.service"), own(readRepositoryFile("packaging/systemd/berth.service")));
  const kubelet = own(readRepositoryFile("packaging/systemd/berth-kubelet.service")).replace(
    /^ExecStart=(?:.*\\\n)*.*$/m,
    "EnvironmentFile=/etc/berth/kubelet.conf\nExecStart=/usr/bin/berth kubelet $BERTH_KUBELET_FLAGS",
  );
  putFile(join(units, "berth-kubelet.service"), kubelet);
  const dropIn = own(readRepositoryFile("packaging/systemd/kubelet.service.d/20-berth.conf"));
  putFile(join(folder, "usr/share/doc/berth/20-berth.conf"), dropIn);
}

function putShellFiles(folder: string): void {
  const places = {
    bash: "usr/share/bash-completion/completions/berth",
    zsh: "usr/share/zsh/vendor-completions/_berth",
    fish: "usr/share/fish/vendor_completions.d/berth.fish",
  };
  for (const [shell, path] of Object.entries(places)) {
    putFile(join(folder, path), completionScript(shell, commandTable) ?? "");
  }
  for (const [page, text] of manPages()) {
    putFile(join(folder, "usr/share/man/man1", `${page}.gz`), gzipSync(text, { level: 9 }));
  }
}

function putDocuments(
  folder: string,
  sources: readonly string[],
  packed: PackedNode,
  modifiedSeconds: number,
): void {
  const documents = join(folder, "usr/share/doc/berth");
  const packages = bundledPackages(sources);
  const copyright = [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: berth",
    "",
    "Files: *",
    "Copyright: the authors of Berth",
    "License: Apache-2.0",
    " /usr/share/common-licenses/Apache-2.0",
    "",
    "The Node.js program and the bundled packages: THIRD-PARTY-LICENSES.gz",
    "",
  ].join("\n");
  putFile(join(documents, "copyright"), copyright);
  const licences = gzipSync(allLicences(packed, packages), { level: 9 });
  putFile(join(documents, "THIRD-PARTY-LICENSES.gz"), licences);
  putFile(join(documents, "sbom.cdx.json"), billWithNode(packed, packages, modifiedSeconds));
  putFile(
    join(documents, "changelog.gz"),
    gzipSync(readRepositoryFile("CHANGELOG.md"), { level: 9 }),
  );
  for (const name of filesBelow(join(repository, "docs"))) {
    if (!/^(?:guides\/)?[^/]+\.md$/.test(name)) continue;
    putFile(join(documents, name), readRepositoryFile(`docs/${name}`));
  }
}

function controlFile(folder: string, files: readonly string[], architecture: string): string {
  const { name, version, description } = readManifest();
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  return [
    `Package: ${name}`,
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: the authors of Berth <berth@localhost>`,
    `Installed-Size: ${Math.ceil(bytes / bytesPerKibibyte)}`,
    `Depends: ${depends.join(", ")}, libc6 (>= 2.28), libstdc++6`,
    "Recommends: systemd",
    "Section: admin",
    "Priority: optional",
    `Description: ${description.replace(/\.$/, "")}`,
    " Runs the pods of a folder with a containerd of its own, or takes the",
    " kubelet's place on a node of a cluster.",
    "",
  ].join("\n");
}

function checksumLine(folder: string, file: string): string {
  const checksum = createHash("md5").update(readFileSync(join(folder, file)));
  return `${checksum.digest("hex")}  ${file}\n`;
}
