import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { createFileSource } from "../drivers/manifest/file-source.ts";
import { createHttpSource } from "../drivers/manifest/http-source.ts";
import { LastGoodFiles } from "../drivers/manifest/last-good-files.ts";
import { parseDuration } from "../lib/duration.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { PodSource } from "../ports/pod-source.ts";
import type { DataLayout } from "./data-layout.ts";

export interface SourceOptions {
  /** A folder of manifests, or one manifest. */
  readonly manifests?: string | undefined;
  readonly manifestUrl?: string | undefined;
  /** NAME:VALUE, several separated by commas. */
  readonly manifestUrlHeader?: string | undefined;
  readonly httpCheckFrequency?: string | undefined;
  readonly fileCheckFrequency?: string | undefined;
}

/** The sources of pods that `berth up` is configured with. */
export interface SourceSetup {
  readonly manifests?: string | undefined;
  readonly rescanMs: number;
  readonly url?: UrlSetup | undefined;
}

interface UrlSetup {
  readonly url: string;
  readonly headers: Record<string, string[]>;
  readonly frequencyMs: number;
}

const defaultFrequency = "20s";

/** Throws a SetupError that names the flag that is wrong. */
export function parseSources(options: SourceOptions): SourceSetup {
  return {
    manifests: options.manifests,
    rescanMs: frequencyMs("--file-check-frequency", options.fileCheckFrequency),
    url: parseUrl(options),
  };
}

/** The sources of `berth up`. A folder that is not named is made; one that is named must be there or come. */
export function createSources(
  { manifests, rescanMs, url }: SourceSetup,
  nodeName: string,
  layout: DataLayout,
): readonly PodSource[] {
  if (manifests === undefined) mkdirSync(layout.manifests, { recursive: true, mode: 0o755 });
  const file = createFileSource({
    path: resolve(manifests ?? layout.manifests),
    nodeName,
    mode: "up",
    rescanMs,
    lastGood: new LastGoodFiles(layout.lastGood),
  });
  return url === undefined ? [file] : [file, createHttpSource({ ...url, nodeName, mode: "up" })];
}

function parseUrl(options: SourceOptions): UrlSetup | undefined {
  const { manifestUrl: url } = options;
  const headers = parseHeaders(options.manifestUrlHeader ?? "");
  const everyMs = frequencyMs("--http-check-frequency", options.httpCheckFrequency);
  if (url === undefined) return undefined;
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new SetupError(
      `--manifest-url "${url}" is not a URL`,
      "give one such as http://host/pods.yaml",
    );
  }
  return { url, headers, frequencyMs: everyMs };
}

function parseHeaders(text: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const header of text.split(",").filter((part) => part !== "")) {
    const colon = header.indexOf(":");
    const name = header.slice(0, colon).trim();
    if (colon < 0 || name === "") {
      throw new SetupError(`--manifest-url-header "${header}" is not a header`, "give NAME:VALUE");
    }
    (headers[name] ??= []).push(header.slice(colon + 1).trim());
  }
  return headers;
}

function frequencyMs(flag: string, text: string = defaultFrequency): number {
  const duration = parseDuration(text);
  if (duration.ok && duration.value > 0) return duration.value;
  throw new SetupError(`${flag} "${text}" is not a duration above zero`, "give one such as 20s");
}
