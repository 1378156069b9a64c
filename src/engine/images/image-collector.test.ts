import { expect, test } from "vitest";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { ImageGcPolicy } from "../../core/image/image-gc.ts";
import type { NodeEvent } from "../../core/node/node-event.ts";
import type { Container, Image } from "../../model/generated/cri.ts";
import { ImageCollector } from "./image-collector.ts";

const policy: ImageGcPolicy = {
  highThresholdPercent: 80,
  lowThresholdPercent: 60,
  minAgeMs: 120_000,
  maxAgeMs: 0,
};

/** A disk of a thousand bytes that holds nothing but images. */
class Disk {
  readonly clock = new VirtualClock();
  readonly events: NodeEvent[] = [];
  readonly stop = new AbortController();
  images: Image[];
  containers: Container[] = [];
  mounted: readonly string[] = [];
  brokenIds: readonly string[] = [];
  readonly collector: ImageCollector;

  constructor(sizes: Readonly<Record<string, bigint>>, changes: Partial<ImageGcPolicy> = {}) {
    this.images = Object.entries(sizes).map(([id, size]) => ({ id, repoTags: [`${id}:1`], size }));
    this.collector = new ImageCollector({
      runtime: {
        listImages: () => Promise.resolve(this.images),
        listContainers: () => Promise.resolve(this.containers),
        status: () => Promise.resolve({ info: { config: '{"sandboxImage": "pause:1"}' } }),
        removeImage: ({ image }) => this.#remove(image ?? ""),
      },
      disks: {
        imageUsage: async () => {
          const [capacityBytes, usedBytes] = [1000, this.#used()];
          const availableBytes = capacityBytes - usedBytes;
          const shared = { timeMs: 0, device: "disk", inodes: 0, inodesFree: 0 };
          return { ...shared, capacityBytes, usedBytes, availableBytes };
        },
      },
      observed: { mountedImages: () => this.mounted },
      policy: { ...policy, ...changes },
      nodeEvents: { recordNode: (event) => void this.events.push(event) },
      metrics: noMetrics,
      clock: this.clock,
      log: silentLog,
    });
  }

  get ids(): readonly (string | undefined)[] {
    return this.images.map(({ id }) => id);
  }

  async run(ms: number): Promise<void> {
    const running = this.collector.run(this.stop.signal);
    await this.clock.advance(ms);
    this.stop.abort();
    await running;
  }

  #used(): number {
    return this.images.reduce((sum, { size }) => sum + Number(size ?? 0n), 0);
  }

  async #remove(image: string): Promise<void> {
    if (this.brokenIds.includes(image)) throw new Error(`cannot remove ${image}`);
    this.images = this.images.filter(({ id }) => id !== image);
  }
}

test("a disk that is too full is freed of unused images down to the low mark", async () => {
  const disk = new Disk({ used: 300n, a: 200n, b: 200n, c: 200n });
  disk.containers = [{ imageRef: "used" }];
  await disk.run(6 * 60_000);
  expect(disk.ids).toEqual(["used", "c"]);
});

test("the images of ended containers and of sandboxes stay, and so do pinned and mounted ones", async () => {
  const disk = new Disk({ ended: 300n, pause: 100n, kept: 300n, mounted: 50n, free: 200n });
  disk.mounted = ["mounted"];
  disk.images = disk.images.map((image) => ({ ...image, pinned: image.id === "kept" }));
  disk.containers = [{ imageId: "ended", imageRef: "other" }];
  await disk.collector.deleteUnused(disk.stop.signal);
  expect(disk.ids).toEqual(["ended", "pause", "kept", "mounted", "free"]);
  await disk.clock.advance(120_000);
  await disk.collector.deleteUnused(disk.stop.signal);
  expect(disk.ids).toEqual(["ended", "pause", "kept", "mounted"]);
});

test("a disk that cannot be freed is reported, and so is failing twice", async () => {
  const disk = new Disk({ used: 900n });
  disk.containers = [{ imageRef: "used" }];
  await disk.run(6 * 60_000);
  expect(disk.events.map(({ reason }) => reason)).toEqual([
    "FreeDiskSpaceFailed",
    "FreeDiskSpaceFailed",
    "ImageGCFailed",
  ]);
  expect(disk.events[0]?.message).toMatch(
    /^Insufficient free disk space .* \(90% of 1000 B used\)/,
  );
});

test("a plan says what would go and why, and removes nothing", async () => {
  const disk = new Disk({ old: 500n, young: 400n });
  const { signal } = disk.stop;
  expect(await disk.collector.plan({ all: true }, signal)).toEqual([]);
  await disk.clock.advance(120_000);
  expect(await disk.collector.plan({ all: false }, signal)).toMatchObject([
    {
      kind: "image",
      name: "old:1",
      bytes: 500,
      because: "no container uses it, and the images' disk is over 80% full: freeing down to 60%",
    },
  ]);
  expect(await disk.collector.plan({ all: true }, signal)).toHaveLength(2);
  expect(disk.ids).toEqual(["old", "young"]);
});

test("an image that was unused for too long goes from an empty disk too", async () => {
  const disk = new Disk({ stale: 10n }, { maxAgeMs: 3_600_000 });
  await disk.run(3_600_000);
  expect(disk.ids).toEqual(["stale"]);
  const later = new Disk({ stale: 10n }, { maxAgeMs: 3_600_000 });
  await later.run(3_600_000 + 6 * 60_000);
  expect(later.ids).toEqual([]);
});
