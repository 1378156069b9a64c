import { readFileSync } from "node:fs";
import { ensureImages, type LocalImage } from "../../../src/drivers/containerd/local-images.ts";
import { ociArchive } from "../../../src/drivers/containerd/oci-archive.ts";
import type { RuntimeWorld } from "../../integration/support/runtime-world.ts";
import { clusterProgram, etcdVersion, kubernetesVersion } from "./cluster-programs.ts";

const importTimeoutMs = 300_000;

/** The images that kubeadm's static pods name, each with nothing in it but the program that was built. */
export async function provideControlPlane({ containerd, runtime }: RuntimeWorld): Promise<void> {
  const servers = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
  const images = [
    ...servers.map((name) => programImage(name, `v${kubernetesVersion}`)),
    programImage("etcd", etcdVersion),
  ];
  const target = { images: runtime, ctr: containerd.tools.ctr, socket: containerd.paths.socket };
  await ensureImages(target, images, AbortSignal.timeout(importTimeoutMs));
}

function programImage(program: string, tag: string): LocalImage {
  const name = `registry.k8s.io/${program}:${tag}`;
  return {
    name,
    build: async () => {
      const data = readFileSync(clusterProgram(program));
      return ociArchive({
        names: [name],
        files: [{ kind: "file", path: program, mode: 0o755, data }],
        config: { Env: ["PATH=/"] },
      });
    },
  };
}
