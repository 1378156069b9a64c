// Puts the images of the examples into a running containerd, without a registry or an image tool.
// usage: node tools/run.mjs tools/images/main.ts SOCKET
import { ensureImages, pauseImage } from "../../src/drivers/containerd/local-images.ts";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../src/drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import { busyboxImage } from "./busybox-image.ts";

const [socket] = process.argv.slice(2);
if (socket === undefined) {
  console.error("usage: node tools/run.mjs tools/images/main.ts SOCKET");
  process.exit(2);
}
const runtime = createCriRuntime(socket);
const wanted = [
  pauseImage(MANAGED_CONTAINERD_DEFAULTS.sandboxImage),
  busyboxImage("latest"),
  busyboxImage("1.36"),
];
await ensureImages({ images: runtime, ctr: "ctr", socket }, wanted, AbortSignal.timeout(60_000));
for (const { name } of wanted) console.log(name);
runtime.close();
