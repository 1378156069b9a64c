import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  ensureImages,
  type LocalImage,
  pauseImage,
} from "../../src/drivers/containerd/local-images.ts";
import { readStaticProgram } from "../../src/drivers/containerd/static-program.ts";
import type { TarEntry } from "../../src/drivers/containerd/tar-archive.ts";
import { busyboxArchive } from "../../tools/images/busybox-image.ts";
import { CertificateAuthority } from "../cluster/support/certificates.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import type { RuntimeWorld } from "../integration/support/runtime-world.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const registry = "registry.k8s.io";
const importTimeoutMs = 300_000;

/** Puts the images that the specs name into the runtime: made here, as no registry can be reached. */
export async function provideImages({ containerd, runtime }: RuntimeWorld): Promise<void> {
  const target = {
    images: runtime,
    ctr: containerd.tools.ctr,
    socket: containerd.paths.socket,
  };
  const shell = await bashAsShell();
  const agnhost = [...shell, ...agnhostFiles()];
  const agnhostConfig = { Entrypoint: ["/agnhost"], Cmd: ["pause"] };
  const pages = { Cmd: ["httpd", "-f", "-p", "80", "-h", "/www"] };
  const images = [
    pauseImage(`${registry}/pause:3.10.2`),
    image("busybox:1.37.0-1", shell, { Cmd: ["sh"] }),
    // Differs by its label, as an image does that something is upgraded to.
    image("busybox:1.36.1-1", shell, { Cmd: ["sh"], Labels: { version: "1.36.1" } }),
    image("glibc-dns-testing:2.0.0", shell, { Cmd: ["sh"] }),
    image("nonroot:1.5", shell, { Cmd: ["sh"], User: "1234" }),
    image("nonewprivs:1.4", [...shell, ...privilegeFiles()], { Cmd: ["nnp"] }),
    image("nginx:1.15-4", [...shell, ...pageFiles()], pages),
    image("nginx:1.27-0", [...shell, ...pageFiles()], { ...pages, Labels: { version: "1.27" } }),
    image("agnhost:2.63.0", agnhost, agnhostConfig),
    image("agnhost:2.55", agnhost, { ...agnhostConfig, Labels: { version: "2.55" } }),
    image("sample-device-plugin:1.7", devicePluginFiles(), {
      Entrypoint: ["/sampledeviceplugin", "-alsologtostderr"],
    }),
  ];
  await ensureImages(target, images, AbortSignal.timeout(importTimeoutMs));
}

/** Specs take the time from busybox's nmeter, which Debian's does not have. */
const timeOfDay = `#!/bin/bash
now=$EPOCHREALTIME
printf '%(%H:%M:%S)T.%s\\n' "\${now:0:10}" "\${now:11:3}"
`;

/** busybox's own shell, as Debian builds it, takes variables with dashes out of the environment. */
async function bashAsShell(): Promise<readonly TarEntry[]> {
  const bash = await readStaticProgram(["/usr/bin/bash-static", "/bin/bash-static"]);
  if (bash === undefined) throw new Error("no static bash found: install the package bash-static");
  return [
    file("bin/bash", bash.data),
    { kind: "link", path: "bin/sh", target: "bash" },
    file("bin/nmeter", Buffer.from(timeOfDay)),
    file(
      "etc/passwd",
      Buffer.from(
        "root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
      ),
      0o644,
    ),
    file(
      "etc/group",
      Buffer.from(
        "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n",
      ),
      0o644,
    ),
  ];
}

/** Specs want a server on port 80 that gets ready, or a shell: busybox is both. */
function pageFiles(): readonly TarEntry[] {
  return [
    { kind: "folder", path: "www/", mode: 0o755 },
    file("www/index.html", Buffer.from("ready\n")),
  ];
}

/** The real program, on busybox where upstream's has Alpine. */
function agnhostFiles(): readonly TarEntry[] {
  return [
    file("agnhost", readFileSync(clusterProgram("agnhost"))),
    { kind: "link", path: "agnhost-2", target: "agnhost" },
    ...serverCertificate(),
    { kind: "folder", path: "uploads/", mode: 0o755 },
    ...nodePrograms({
      curl: "/usr/bin/curl",
      // busybox's runs a shell of its own, with its own programs instead of the node's.
      nsenter: "/usr/bin/nsenter",
      // busybox's has no UDP.
      nc: "/bin/nc.openbsd",
    }),
  ];
}

/** What agnhost serves HTTPS with; its clients do not check it. */
function serverCertificate(): readonly TarEntry[] {
  const folder = makeTestFolder("agnhost");
  const authority = new CertificateAuthority(folder, "agnhost");
  const { certificate, key } = authority.issue("localhost", { commonName: "localhost" });
  return [
    file("localhost.crt", readFileSync(certificate), 0o644),
    file("localhost.key", readFileSync(key), 0o644),
  ];
}

/** Programs of this machine, by their names in the image, with the libraries they need. */
function nodePrograms(programs: Readonly<Record<string, string>>): readonly TarEntry[] {
  const libraries = Object.values(programs).flatMap((program) =>
    execFileSync("ldd", [program], { encoding: "utf8" })
      .split("\n")
      .flatMap((line) => /(\/[^ ]+) \(0x/.exec(line)?.[1] ?? []),
  );
  return [
    ...["lib/", "lib64/", "lib/x86_64-linux-gnu/"].map(
      (path): TarEntry => ({ kind: "folder", path, mode: 0o755 }),
    ),
    ...Object.entries(programs).map(([name, path]) => file(`bin/${name}`, readFileSync(path))),
    ...[...new Set(libraries)].map((path) => file(path.slice(1), readFileSync(path))),
  ];
}

function devicePluginFiles(): readonly TarEntry[] {
  return [file("sampledeviceplugin", readFileSync(clusterProgram("sample-device-plugin")))];
}

function privilegeFiles(): readonly TarEntry[] {
  return [
    { kind: "folder", path: "usr/local/", mode: 0o755 },
    { kind: "folder", path: "usr/local/bin/", mode: 0o755 },
    file("usr/local/bin/nnp", readFileSync(clusterProgram("nonewprivs")), 0o6755),
  ];
}

function file(path: string, data: Buffer, mode = 0o755): TarEntry {
  return { kind: "file", path, mode, data };
}

type ImageConfig = Parameters<typeof busyboxArchive>[0]["config"];

function image(reference: string, files: readonly TarEntry[], config: ImageConfig): LocalImage {
  const name = `${registry}/e2e-test-images/${reference}`;
  return { name, build: () => busyboxArchive({ names: [name], files, config }) };
}
