import { ContentService, type Info, type Status } from "../../generated/containerd-content.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { PullProgress, PullProgressReader } from "../../ports/pull-progress.ts";
import { CRI_NAMESPACE } from "./containerd-events.ts";

const timeoutMs = 5000;
const maxManifestBytes = 4n * 1024n * 1024n;
/** On every blob, followed by the registry without its port: the repositories it came from. */
const sourceLabel = "containerd.io/distribution.source.";
/** On a manifest: the digests of its layers. */
const layerLabel = "containerd.io/gc.ref.content.l.";
const layerIngest = "layer-";

interface ContentCall<Request, Message> {
  readonly method: {
    readonly path: string;
    readonly serialize: (request: Request) => Buffer;
    readonly deserialize: (bytes: Buffer) => Message;
  };
  readonly request: Request;
  readonly metadata: Readonly<Record<string, string>>;
}

interface ContentMethod<Request, Message> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Message;
}

/** A connection to containerd's socket, as the CRI client has one. */
interface ContentConnection {
  /** All messages of the answer; a call that answers once has one. */
  collect<Request, Message>(
    call: ContentCall<Request, Message>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly Message[]>;
}

/** Reads the progress of pulls from containerd's content store: what of an image is there, and what is being written. */
export class ContainerdPullProgress implements PullProgressReader {
  readonly #connection: ContentConnection;

  constructor(connection: ContentConnection) {
    this.#connection = connection;
  }

  async read(repository: string, signal: AbortSignal): Promise<PullProgress | undefined> {
    const slash = repository.indexOf("/");
    const registry = repository.slice(0, slash);
    const label = `${sourceLabel}${registry.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1")}`;
    const path = repository.slice(slash + 1);
    const lists = await this.#ask(ContentService.list, { filters: [`labels."${label}"`] }, signal);
    const there = lists.flatMap(({ info }) => info);
    const answers = await this.#ask(ContentService.listStatuses, { filters: [] }, signal);
    const active = activeLayers(answers.flatMap(({ statuses }) => statuses));
    const manifest = there.find(
      ({ labels }) =>
        (labels[label] ?? "").split(",").includes(path) &&
        layersOf(labels).some((digest) => active.has(digest)),
    );
    if (manifest === undefined) return undefined;
    const sizes = await this.#readLayerSizes(manifest.digest, signal);
    const present = new Map(there.map(({ digest, size }) => [digest, Number(size)]));
    let [doneBytes, totalBytes] = [0, 0];
    for (const [digest, size] of sizes) {
      doneBytes += present.get(digest) ?? active.get(digest) ?? 0;
      totalBytes += size;
    }
    return { doneBytes, totalBytes };
  }

  async #readLayerSizes(
    digest: string,
    signal: AbortSignal,
  ): Promise<readonly (readonly [string, number])[]> {
    const request = { digest, offset: 0n, size: maxManifestBytes };
    const parts = await this.#ask(ContentService.read, request, signal);
    const manifest: unknown = parseJsonText(
      Buffer.concat(parts.map(({ data }) => data)).toString(),
    );
    // Images are checked by the runtime; a wrong shape here only costs the numbers.
    const { layers = [] } = manifest as { layers?: readonly { digest: string; size: number }[] };
    return layers.map((layer) => [layer.digest, layer.size]);
  }

  #ask<Request, Message>(
    { path, requestSerialize, responseDeserialize }: ContentMethod<Request, Message>,
    request: Request,
    signal: AbortSignal,
  ): Promise<readonly Message[]> {
    const method = { path, serialize: requestSerialize, deserialize: responseDeserialize };
    const metadata = { "containerd-namespace": CRI_NAMESPACE };
    return this.#connection.collect({ method, request, metadata }, timeoutMs, signal);
  }
}

function activeLayers(statuses: readonly Status[]): ReadonlyMap<string, number> {
  return new Map(
    statuses
      .filter(({ ref }) => ref.startsWith(layerIngest))
      .map(({ ref, offset }) => [ref.slice(layerIngest.length), Number(offset)]),
  );
}

function layersOf(labels: Info["labels"]): readonly string[] {
  return Object.entries(labels)
    .filter(([name]) => name.startsWith(layerLabel))
    .map(([, digest]) => digest);
}
