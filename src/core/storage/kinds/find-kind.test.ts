import { expect, test } from "vitest";
import { findKindByName, findKindOf } from "./find-kind.ts";

const drivers = [{ name: "example.com/lvm", attachable: false }];

test("a kind is found by a volume and by the name of its plugin alike", () => {
  const spec = { source: "inline", volume: { name: "v", emptyDir: {} } } as const;
  const kind = findKindOf(spec, []);
  expect(kind.ok && kind.value.plugin).toBe("kubernetes.io/empty-dir");
  expect(findKindByName("kubernetes.io/empty-dir", [])).toEqual(kind);
});

test("a flex driver is a kind while the node has it", () => {
  const flexVolume = { driver: "example.com/lvm" };
  const spec = { source: "inline", volume: { name: "v", flexVolume } } as const;
  expect(findKindOf(spec, drivers)).toMatchObject({ value: { plugin: "example.com/lvm" } });
  expect(findKindOf(spec, [])).toMatchObject({ error: { message: "no volume plugin matched" } });
  expect(findKindByName("example.com/lvm", [])).toMatchObject({
    error: { message: "no volume plugin matched name: example.com/lvm" },
  });
});

test("a volume of two kinds is refused", () => {
  const nfs = { server: "s", path: "/" };
  const spec = { source: "inline", volume: { name: "v", emptyDir: {}, nfs } } as const;
  expect(findKindOf(spec, [])).toMatchObject({
    error: {
      message: "multiple volume plugins matched: kubernetes.io/empty-dir,kubernetes.io/nfs",
    },
  });
});
