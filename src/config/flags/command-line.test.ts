import { expect, test } from "vitest";
import { fileDefaultConfig } from "../legacy-defaults.ts";
import { applyFlags, parseCommandLine } from "./command-line.ts";

test.each([
  [["--max-pods"], "failed to parse kubelet flag: flag needs an argument: --max-pods"],
  [["--=x"], "failed to parse kubelet flag: bad flag syntax: --=x"],
  [["start"], "unknown command start"],
  [["--", "--max-pods=5"], "unknown command --max-pods=5"],
  [
    ["-v=x"],
    'failed to parse kubelet flag: invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax',
  ],
  [
    ["--feature-gates=NodeSwap=false"],
    "failed to set feature gates from initial flags-based config: cannot set feature gate NodeSwap to false, feature is locked to true",
  ],
])("%j is refused", (args, message) => {
  expect(parseCommandLine(args)).toEqual({ ok: false, error: message });
});

test("a node may not give itself labels of Kubernetes' own", () => {
  const parsed = parseCommandLine(["--node-labels=k8s.io/a=b,example.com/c=d"]);
  expect(parsed.ok ? "" : parsed.error).toContain(
    "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [k8s.io/a]",
  );
});

test("flags win over a file, gates of both are kept, and lists replace the file's", () => {
  const parsed = parseCommandLine([
    "--max_pods=7",
    "--feature-gates=NodeLogQuery=true",
    "--cluster-dns=10.0.0.1,10.0.0.2",
    "--cluster-dns=10.0.0.3",
  ]);
  expect(parsed.ok).toBe(true);
  if (!parsed.ok) return;
  const file = {
    ...fileDefaultConfig(),
    maxPods: 5,
    featureGates: { NodeLogQuery: false, CustomCPUCFSQuotaPeriod: true },
    clusterDNS: ["10.9.9.9"],
  };
  const applied = applyFlags(file, parsed.value);
  expect(applied.ok && applied.value.config).toEqual({
    ...file,
    maxPods: 7,
    featureGates: { NodeLogQuery: true, CustomCPUCFSQuotaPeriod: true },
    clusterDNS: ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
  });
});

test("help is shown without parsing the rest", () => {
  const parsed = parseCommandLine(["-h", "--feature-gates=Nope=true"]);
  expect(parsed.ok && parsed.value.wantsHelp).toBe(true);
});
