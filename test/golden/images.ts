import type { LocalImage } from "../../src/drivers/containerd/local-images.ts";
import type { OciImage } from "../../src/drivers/containerd/oci-archive.ts";
import { busyboxArchive } from "../../tools/images/busybox-image.ts";

export const recordedRegistry = "registry.k8s.io";

const FOLDER = `${recordedRegistry}/e2e-test-images`;

// Does what the recorded pods ask of the real program: to wait, and to answer on port 8080. It ends as that does.
const AGNHOST = `#!/bin/sh
if [ "$1" = netexec ]; then
  trap 'exit 0' TERM
  httpd -p 8080 -h /www
else
  trap 'echo "exiting because of signal \\"terminated\\"" | tee /dev/termination-log; exit 2' TERM
fi
while :; do sleep 3600 & wait $!; done
`;

/** The image that a recorded pod pulls though it is there. */
export const agnhost: LocalImage = image(
  "agnhost:2.63.0",
  [
    { kind: "file", path: "agnhost", mode: 0o755, data: Buffer.from(AGNHOST) },
    { kind: "folder", path: "www/", mode: 0o755 },
    { kind: "file", path: "www/hostname", mode: 0o644, data: Buffer.from("agnhost\n") },
  ],
  { Entrypoint: ["/agnhost"], Cmd: ["pause"] },
);

/** The images that the recordings name, made on this machine. */
export const recordedImages: readonly LocalImage[] = [
  image("busybox:1.37.0-1", [], { Cmd: ["sh"] }),
  image("busybox:1.36.1-1", [], { Cmd: ["sh"], Labels: { version: "1.36.1" } }),
  image("nonroot:1.5", [], { Cmd: ["sh"], User: "1234" }),
  agnhost,
];

function image(
  reference: string,
  files: OciImage["files"],
  config: OciImage["config"],
): LocalImage {
  const name = `${FOLDER}/${reference}`;
  return { name, build: () => busyboxArchive({ names: [name], files, config }) };
}
