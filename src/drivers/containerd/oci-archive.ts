import { createHash } from "node:crypto";
import { type TarEntry, tarArchive } from "./tar-archive.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/** An image of one layer. */
export interface OciImage {
  /** Full references, such as docker.io/library/busybox:latest. */
  readonly names: readonly string[];
  readonly files: readonly TarEntry[];
  readonly config: {
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env?: readonly string[];
    readonly User?: string;
    readonly WorkingDir?: string;
    readonly Labels?: Readonly<Record<string, string>>;
  };
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly data: Buffer;
}

/** The image as an OCI image layout in a tar archive, for this machine's architecture. */
export function ociArchive(image: OciImage): Buffer {
  const layer = blob("application/vnd.oci.image.layer.v1.tar", tarArchive(image.files));
  const config = jsonBlob("application/vnd.oci.image.config.v1+json", {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: "linux",
    config: image.config,
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  });
  const manifest = jsonBlob("application/vnd.oci.image.manifest.v1+json", {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: descriptor(config),
    layers: [descriptor(layer)],
  });
  const index = {
    schemaVersion: 2,
    manifests: image.names.map((name) => ({
      ...descriptor(manifest),
      annotations: { "io.containerd.image.name": name },
    })),
  };
  return tarArchive([
    jsonFile("oci-layout", { imageLayoutVersion: "1.0.0" }),
    jsonFile("index.json", index),
    { kind: "folder", path: "blobs/", mode: 0o755 },
    { kind: "folder", path: "blobs/sha256/", mode: 0o755 },
    ...[layer, config, manifest].map(
      ({ digest, data }): TarEntry => ({
        kind: "file",
        path: `blobs/${digest.replace(":", "/")}`,
        mode: 0o644,
        data,
      }),
    ),
  ]);
}

function blob(mediaType: string, data: Buffer): Blob {
  const digest = `sha256:${createHash("sha256").update(data).digest("hex")}`;
  return { mediaType, digest, size: data.length, data };
}

function jsonBlob(mediaType: string, value: unknown): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function descriptor({ mediaType, digest, size }: Blob): Omit<Blob, "data"> {
  return { mediaType, digest, size };
}

function jsonFile(path: string, value: unknown): TarEntry {
  return { kind: "file", path, mode: 0o644, data: Buffer.from(JSON.stringify(value)) };
}
