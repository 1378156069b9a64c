import { expect, test } from "vitest";
import { parseImageName, withDefaultTag } from "./image-name.ts";

const hex64 = "0123456789abcdef".repeat(4);

test.each([
  ["a".repeat(256), "repository name must not be more than 255 characters"],
  [hex64, `invalid repository name (${hex64}), cannot specify 64-byte hexadecimal strings`],
  [`x@sha256:${"a".repeat(63)}`, "invalid checksum digest length"],
  [`x@sha256:${"A".repeat(64)}`, "invalid checksum digest format"],
  [`x@md5:${"a".repeat(32)}`, "unsupported digest algorithm"],
  [`x:1@MD5:${"a".repeat(32)}`, "invalid checksum digest format"],
  ["[::g]:5000/x", "invalid reference format"],
  // A runtime would take the file of a checkpoint for an image.
  ["/var/lib/kubelet/checkpoints/checkpoint-web_default-main.tar", "invalid reference format"],
  ["../checkpoints/checkpoint.tar", "invalid reference format"],
])("refuses %s", (image, why) => {
  expect(parseImageName(image)).toEqual({
    ok: false,
    error: `couldn't parse image name "${image}": ${why}`,
  });
});

test.each([
  ["index.docker.io/busybox", "docker.io/library/busybox"],
  ["Reg/x", "Reg/x"],
  ["[2001:db8::1]:5000/x/y", "[2001:db8::1]:5000/x/y"],
  ["localhost/x", "localhost/x"],
  ["team/x", "docker.io/team/x"],
])("%s lies in %s", (image, repository) => {
  expect(parseImageName(image)).toMatchObject({ ok: true, value: { repository, tag: "latest" } });
});

test("a name that ends like the default tag keeps its own tag", () => {
  expect(withDefaultTag("x:latest")).toEqual({ ok: true, value: "x:latest" });
  expect(withDefaultTag("x:1")).toEqual({ ok: true, value: "x:1" });
});
