import { expect, test } from "vitest";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import { kubeletLogOptions } from "./kubelet-log.ts";

const { logging } = fileDefaultConfig();

test("without options the log is Berth's own, as people or machines read it", () => {
  const usual = { level: "info", split: undefined };
  expect(kubeletLogOptions(logging, false)).toEqual({ ...usual, format: "json" });
  expect(kubeletLogOptions(logging, true)).toEqual({ ...usual, format: "human" });
  expect(kubeletLogOptions({ ...logging, verbosity: 4 }, true)).toMatchObject({ level: "debug" });
});

test("the options of the chosen format count: format json splits and buffers as its own options say", () => {
  const options = {
    text: { splitStream: false, infoBufferSize: "0" },
    json: { splitStream: true, infoBufferSize: "64Ki" },
  };
  const asked = { ...logging, format: "json", flushFrequency: "2s", options };
  expect(kubeletLogOptions(asked, true)).toEqual({
    level: "info",
    format: "kubernetes",
    split: { bufferBytes: 65_536, flushMs: 2_000 },
  });
  expect(kubeletLogOptions({ ...asked, format: "text" }, false).split).toBeUndefined();
});
