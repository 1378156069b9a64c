import { createServer, type Server, type ServerResponse } from "node:http";

const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const TAR_BLOCK_BYTES = 512;

/** A registry on a loopback port that serves one image, whatever the repository and tag. */
export class LocalRegistry {
  readonly #server: Server;
  readonly #blobs: ReadonlyMap<string, Buffer>;
  readonly #manifestDigest: string;

  private constructor(archive: Buffer) {
    const files = tarFiles(archive);
    const index = JSON.parse(files.get("index.json")?.toString("utf8") ?? "{}") as {
      readonly manifests: readonly { readonly digest: string }[];
    };
    this.#manifestDigest = index.manifests[0]?.digest ?? "";
    this.#blobs = new Map(
      [...files].map(([path, data]) => [path.replace(/^blobs\/sha256\//, "sha256:"), data]),
    );
    this.#server = createServer((request, response) => {
      this.#answer(request.method === "HEAD", request.url ?? "", response);
    });
  }

  /** `archive` is an OCI image layout in a tar archive. */
  static async start(archive: Buffer): Promise<LocalRegistry> {
    const registry = new LocalRegistry(archive);
    await new Promise<void>((resolve) => {
      registry.#server.listen(0, "127.0.0.1", resolve);
    });
    return registry;
  }

  /** As image names begin with it: address and port. */
  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `127.0.0.1:${address.port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(isHead: boolean, url: string, response: ServerResponse): void {
    if (url === "/v2/") {
      response.end();
      return;
    }
    const [, kind, reference = ""] = /\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const digest = reference.startsWith("sha256:") ? reference : this.#manifestDigest;
    const data = kind === undefined ? undefined : this.#blobs.get(digest);
    if (data === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": kind === "manifests" ? MANIFEST_TYPE : "application/octet-stream",
      "content-length": data.length,
      "docker-content-digest": digest,
    });
    response.end(isHead ? undefined : data);
  }
}

/** The files of a tar archive by their path. */
function tarFiles(archive: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  let offset = 0;
  while (offset + TAR_BLOCK_BYTES <= archive.length) {
    const path = archive.toString("utf8", offset, offset + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(archive.toString("ascii", offset + 124, offset + 136), 8) || 0;
    const start = offset + TAR_BLOCK_BYTES;
    if (path !== "" && !path.endsWith("/")) files.set(path, archive.subarray(start, start + size));
    offset = start + Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
  }
  return files;
}
