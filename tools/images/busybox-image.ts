import { execFileSync } from "node:child_process";
import type { LocalImage } from "../../src/drivers/containerd/local-images.ts";
import { type OciImage, ociArchive } from "../../src/drivers/containerd/oci-archive.ts";
import { readStaticProgram } from "../../src/drivers/containerd/static-program.ts";
import type { TarEntry } from "../../src/drivers/containerd/tar-archive.ts";

const PATHS = ["/usr/bin/busybox", "/bin/busybox"];
const FOLDERS = [
  "bin",
  "dev",
  "etc",
  "home",
  "proc",
  "root",
  "sys",
  "tmp",
  "usr",
  "usr/bin",
  "var",
  "var/www",
];
const PASSWD =
  "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\nuser:x:1000:1000::/home:/bin/sh\n";
const GROUP = "root:x:0:\nnogroup:x:65534:\nuser:x:1000:\nextra:x:2000:user\n";

/** The image docker.io/library/busybox:TAG, made of this machine's busybox-static; `user` as in a Dockerfile. */
export function busyboxImage(tag: string, user = ""): LocalImage {
  const name = `docker.io/library/busybox:${tag}`;
  return {
    name,
    build: () => {
      const config = {
        Cmd: ["sh"],
        // Makes each tag an image of its own.
        Labels: { "berth.example/tag": tag },
        ...(user === "" ? {} : { User: user }),
      };
      return busyboxArchive({ names: [name], files: [], config });
    },
  };
}

/** An OCI archive of an image on top of this machine's busybox-static. */
export async function busyboxArchive({ names, files, config }: OciImage): Promise<Buffer> {
  const busybox = await readStaticProgram(PATHS);
  if (busybox === undefined) {
    throw new Error("no static busybox found: install the package busybox-static");
  }
  return ociArchive({
    names,
    files: [...rootFiles(busybox.path, busybox.data), ...files],
    config: {
      Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      ...config,
    },
  });
}

function rootFiles(program: string, data: Buffer): readonly TarEntry[] {
  const applets = execFileSync(program, ["--list"], { encoding: "utf8" });
  return [
    ...FOLDERS.map(
      (path): TarEntry => ({ kind: "folder", path: `${path}/`, mode: folderMode(path) }),
    ),
    { kind: "file", path: "bin/busybox", mode: 0o755, data },
    ...applets
      .split("\n")
      .filter((applet) => applet !== "" && applet !== "busybox")
      .map((applet): TarEntry => ({ kind: "link", path: `bin/${applet}`, target: "busybox" })),
    text("etc/passwd", PASSWD),
    text("etc/group", GROUP),
  ];
}

function folderMode(path: string): number {
  return path === "tmp" ? 0o1777 : 0o755;
}

function text(path: string, content: string): TarEntry {
  return { kind: "file", path, mode: 0o644, data: Buffer.from(content) };
}
