import { SetupError } from "../../lib/setup-error.ts";
import { sleep } from "../../lib/timers.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import { CRI_NAMESPACE } from "./containerd-events.ts";
import { ociArchive } from "./oci-archive.ts";
import { runCommand } from "./run-command.ts";
import { readStaticProgram } from "./static-program.ts";

const POLL_MS = 20;
const IMPORT_TIMEOUT_MS = 30_000;

/** An image that can be made on this machine. */
export interface LocalImage {
  readonly name: string;
  /** An OCI archive; only called when the image is missing. */
  readonly build: () => Promise<Buffer>;
}

export interface ImageTarget {
  readonly images: ImageService;
  /** The ctr program. */
  readonly ctr: string;
  /** containerd's socket. */
  readonly socket: string;
}

/** Builds and imports the images that the runtime does not have; resolves when it can use them all. */
export async function ensureImages(
  target: ImageTarget,
  wanted: readonly LocalImage[],
  signal: AbortSignal,
): Promise<void> {
  for (const image of wanted) {
    if (await isPresent(target, image.name, signal)) continue;
    const flags = ["--address", target.socket, "--namespace", CRI_NAMESPACE];
    const archive = await image.build();
    await runCommand(target.ctr, [...flags, "images", "import", "--no-unpack", "-"], archive);
    await waitForImage(target, image.name, signal);
  }
}

/** The sandbox image, made of an installed static program so that no registry is needed. */
export function pauseImage(name: string): LocalImage {
  return {
    name,
    build: async () => {
      for (const { paths, args } of PAUSE_PROGRAMS) {
        const program = await readStaticProgram(paths);
        if (program === undefined) continue;
        return ociArchive({
          names: [name],
          files: [{ kind: "file", path: "pause", mode: 0o755, data: program.data }],
          config: { Entrypoint: ["/pause", ...args] },
        });
      }
      throw new SetupError(
        `the sandbox image ${name} is missing and cannot be made`,
        "install the package catatonit or busybox-static, or pull the image",
      );
    },
  };
}

// Each waits for ever, ends on the stop signal, and reaps what containers that share its process ids leave.
const PAUSE_PROGRAMS = [
  { paths: ["/usr/bin/catatonit", "/usr/libexec/catatonit"], args: ["-P"] },
  {
    paths: ["/usr/bin/busybox", "/bin/busybox"],
    args: [
      "sh",
      "-c",
      "trap 'exit 0' TERM INT; while :; do /pause sleep 2147483647 & wait $!; done",
    ],
  },
];

// The CRI learns of an imported image from an event, a moment later.
async function waitForImage(target: ImageTarget, name: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + IMPORT_TIMEOUT_MS;
  while (!(await isPresent(target, name, signal))) {
    if (Date.now() > deadline) throw new Error(`the imported image ${name} does not appear`);
    await sleep(POLL_MS, signal);
  }
}

async function isPresent(
  { images }: ImageTarget,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await images.imageStatus({ image: name }, false, signal)).image !== undefined;
}
