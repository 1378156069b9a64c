import { readFileSync } from "node:fs";
import {
  ensureImages,
  type LocalImage,
  pauseImage,
} from "../../src/drivers/containerd/local-images.ts";
import type { TarEntry } from "../../src/drivers/containerd/tar-archive.ts";
import { busyboxArchive } from "../../tools/images/busybox-image.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import type { RuntimeWorld } from "../integration/support/runtime-world.ts";

const registry = "registry.k8s.io";
const importTimeoutMs = 300_000;

/** Puts the images that the specs name into the runtime: made here, as no registry can be reached. */
export async function provideImages({ containerd, runtime }: RuntimeWorld): Promise<void> {
  const target = {
    images: runtime,
    ctr: containerd.tools.ctr,
    socket: containerd.paths.socket,
  };
  const images = [
    pauseImage(`${registry}/pause:3.10.2`),
    image("busybox:1.37.0-1", [], { Cmd: ["sh"] }),
    image("busybox:1.36.1-1", [], { Cmd: ["sh"], Labels: { version: "1.36.1" } }),
    image("nginx:1.15-4", pageFiles(), { Cmd: ["httpd", "-f", "-p", "80", "-h", "/www"] }),
    image("agnhost:2.63.0", agnhostFiles(), { Entrypoint: ["/agnhost"], Cmd: ["pause"] }),
  ];
  await ensureImages(target, images, AbortSignal.timeout(importTimeoutMs));
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
    { kind: "folder", path: "uploads/", mode: 0o755 },
    { kind: "folder", path: "usr/local/", mode: 0o755 },
    { kind: "folder", path: "usr/local/bin/", mode: 0o755 },
    file("usr/local/bin/nsenter", Buffer.from(nodeNsenter(process.pid))),
  ];
}

/**
 * Specs prepare volumes in the node's mount namespace, that of process 1. Where the node is itself in a container, that one
 * cannot be entered, but this process is on the node as well. The shell is named by its path: busybox would run its own,
 * with its own programs instead of the node's.
 */
function nodeNsenter(pid: number): string {
  return `#!/bin/sh
for word; do
  shift
  case "$last $word" in
    *" --mount=/rootfs/proc/1/ns/mnt") word=--mount=/rootfs/proc/${pid}/ns/mnt ;;
    "-- sh") word=/bin/sh ;;
  esac
  last=$word
  set -- "$@" "$word"
done
exec busybox nsenter "$@"
`;
}

function file(path: string, data: Buffer): TarEntry {
  return { kind: "file", path, mode: 0o755, data };
}

type ImageConfig = Parameters<typeof busyboxArchive>[0]["config"];

function image(reference: string, files: readonly TarEntry[], config: ImageConfig): LocalImage {
  const name = `${registry}/e2e-test-images/${reference}`;
  return { name, build: () => busyboxArchive({ names: [name], files, config }) };
}
