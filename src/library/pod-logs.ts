import { chooseContainer } from "../cli/pod-argument.ts";
import type { Terminal } from "../cli/terminal.ts";
import { splitLines } from "../lib/split-lines.ts";
import type { LogOptions } from "./api.ts";
import { libraryError } from "./client-errors.ts";
import type { PodPlace } from "./wait-for-pod.ts";

/** The whole log as it is now. */
export async function readLog(place: PodPlace, options: LogOptions): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of openLog(place, options, false)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The lines of the log, also those that are written from now on, until the container has ended. */
export async function* followLog(place: PodPlace, options: LogOptions): AsyncGenerator<string> {
  for await (const line of splitLines(openLog(place, options, true))) {
    yield Buffer.concat(line).toString();
  }
}

async function* openLog(
  { client, namespace, name }: PodPlace,
  { container, previous, tailLines, timestamps, signal }: LogOptions,
  follow: boolean,
): AsyncGenerator<Buffer> {
  // Ends the request when the reader has seen enough.
  const left = new AbortController();
  const lifetime = AbortSignal.any([left.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    const pod = await client.readPod(namespace, name, lifetime);
    const query = {
      container: chooseContainer(pod, container, quiet),
      follow: String(follow),
      previous: String(previous ?? false),
      timestamps: String(timestamps ?? false),
      tailLines: tailLines === undefined ? undefined : String(tailLines),
    };
    yield* await client.openLog(pod, query, lifetime);
  } catch (error) {
    throw libraryError(error, signal);
  } finally {
    left.abort();
  }
}

/** Which container was chosen of several is not said. */
const quiet: Pick<Terminal, "note"> = { note: () => undefined };
