import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { memoryVolumeBytes } from "./empty-dir-size.ts";
import { hugePageSize } from "./huge-page-size.ts";

function podWith(...resources: readonly ResourceRequirements[]): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "uid-1" },
    spec: { containers: resources.map((each, index) => ({ name: `c${index}`, resources: each })) },
  });
}

const mebi = 1024n ** 2n;

const limited = (memory: string) => ({ limits: { memory }, requests: { memory } });

test.each([
  { by: "its own limit", pod: podWith(limited("64Mi")), limit: "1Mi", node: "1Gi", is: mebi },
  {
    by: "the pod's limit",
    pod: podWith(limited("1Mi"), limited("1Mi")),
    limit: "3Mi",
    node: "1Gi",
    is: 2n * mebi,
  },
  { by: "what the node has", pod: podWith({}), limit: "3Gi", node: "1Gi", is: 1024n * mebi },
  { by: "the node, not by 0", pod: podWith({}), limit: "0", node: "1Gi", is: 1024n * mebi },
  { by: "its limit on an unknown node", pod: podWith({}), limit: "1Mi", is: mebi },
  { by: "nothing", pod: podWith({}) },
])("a volume in memory is bounded by $by", ({ pod, limit, node, is }) => {
  expect(memoryVolumeBytes(pod, limit, node)).toBe(is);
});

test("huge pages are of the only size that is requested", () => {
  const pages = (...sizes: readonly string[]) =>
    podWith(...sizes.map((size) => ({ requests: { [`hugepages-${size}`]: "1Gi" } })));
  expect(hugePageSize("HugePages", pages("2Mi", "2048Ki"))).toEqual({ ok: true, value: "2Mi" });
  expect(hugePageSize("HugePages-1Gi", pages("2Mi", "1Gi"))).toEqual({ ok: true, value: "1Gi" });
  expect(hugePageSize("HugePages", pages("2Mi", "1Gi"))).toEqual({
    ok: false,
    error: "medium: HugePages can't be used if container requests multiple huge page sizes",
  });
  expect(hugePageSize("HugePages-1Gi", pages("2Mi"))).toEqual({
    ok: false,
    error:
      "medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages",
  });
});
