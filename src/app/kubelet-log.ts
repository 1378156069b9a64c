import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { nanosecondsOf } from "../lib/duration.ts";
import { mustParseQuantity, quantityValue } from "../model/quantity.ts";
import type { ProcessLogOptions } from "./process-log.ts";

const detailsVerbosity = 4;
const maxBufferBytes = 16 * 1024 * 1024;

/** The log that a kubelet's configuration asks for. `isPerson`: a person reads it as it is written. */
export function kubeletLogOptions(
  { format, verbosity, flushFrequency, options }: KubeletConfiguration["logging"],
  isPerson: boolean,
): ProcessLogOptions {
  const isJson = format === "json";
  const { splitStream, infoBufferSize } = isJson ? options.json : options.text;
  const bufferBytes = Number(quantityValue(mustParseQuantity(infoBufferSize)));
  return {
    level: verbosity >= detailsVerbosity ? "debug" : "info",
    format: isJson ? "kubernetes" : isPerson ? "human" : "json",
    split: splitStream
      ? { bufferBytes: Math.min(bufferBytes, maxBufferBytes), flushMs: flushMsOf(flushFrequency) }
      : undefined,
  };
}

/** A number of old configurations is in nanoseconds. */
function flushMsOf(given: number | string): number {
  const nanoseconds = typeof given === "number" ? BigInt(given) : nanosecondsOf(given);
  return Number(nanoseconds / 1_000_000n);
}
