import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { logFormat } from "./agent-log.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

function terminal(isTTY: boolean, environment: Readonly<Record<string, string>> = {}): Terminal {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  return { ...processTerminal(), stderr, environment };
}

test.each([
  { given: undefined, isTTY: true, environment: {}, format: "coloured" },
  { given: undefined, isTTY: true, environment: { NO_COLOR: "1" }, format: "human" },
  { given: undefined, isTTY: false, environment: {}, format: "json" },
  { given: "text", isTTY: false, environment: {}, format: "human" },
  { given: "json", isTTY: true, environment: {}, format: "json" },
] as const)(
  "--log-format $given on a terminal: $isTTY, with $environment is $format",
  ({ given, isTTY, environment, format }) => {
    expect(logFormat(given, terminal(isTTY, environment))).toBe(format);
  },
);
