// `npm run gen` writes the generated sources; `npm run gen:check` fails when one of them is not current.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type GrpcDefinition, grpcProto, grpcTypes } from "./grpc-service.ts";
import { type ConfigTypes, configTypesModule } from "./kubelet-config.ts";
import {
  type FeatureGates,
  type FlagEntry,
  featureGatesModule,
  kubeletFlagsModule,
} from "./kubelet-lists.ts";
import { kubeletSettingsPage } from "./kubelet-settings.ts";
import { kubernetesTypes, type OpenApi } from "./kubernetes-types.ts";
import { lintConfig } from "./lint-config.ts";
import { type MetricEntry, metricsModule, ownMetrics } from "./metrics.ts";
import { type PodDumpTypes, podDumpTypesModule } from "./pod-dump-types.ts";
import { podFieldsPage } from "./pod-fields.ts";
import { type WireTypes, wireTypesModule } from "./wire-types.ts";

const data = "tools/generate/data";
const tsProtoOptions = [
  "env=node",
  "esModuleInterop=true",
  "importSuffix=.ts",
  "forceLong=bigint",
  "enumsAsLiterals=true",
  "exportCommonSymbols=false",
  "outputJsonMethods=false",
  "outputServices=grpc-js",
  "outputClientImpl=false",
  "unrecognizedEnum=false",
  "useReadonlyTypes=true",
  "removeEnumPrefix=false",
  "useDate=false",
];

const check = process.argv.includes("--check");
const stale: string[] = [];

function write(path: string, text: string): void {
  if (check) {
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) stale.push(path);
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(data, name), "utf8"));
}

/** Compiles the .proto files of one folder with buf and ts-proto; no network is needed. */
function compileProtos(protos: Readonly<Record<string, string>>): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "berth-gen-"));
  try {
    for (const [name, text] of Object.entries(protos)) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "buf.yaml"), "version: v2\n");
    const plugin = {
      local: [process.execPath, resolve("node_modules/ts-proto/protoc-gen-ts_proto")],
      out: "out",
      opt: tsProtoOptions,
    };
    writeFileSync(
      join(folder, "buf.gen.yaml"),
      JSON.stringify({ version: "v2", plugins: [plugin] }),
    );
    execFileSync(resolve("node_modules/.bin/buf"), ["generate"], { cwd: folder, stdio: "inherit" });
    const results = new Map<string, string>();
    for (const name of Object.keys(protos)) {
      const output = `${name.replace(/\.proto$/, "")}.ts`;
      results.set(output, readFileSync(join(folder, "out", output), "utf8"));
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

write(".oxlintrc.json", lintConfig());
const cri = readJson("cri-v1.json") as GrpcDefinition;
const criTitle = "The Kubernetes container runtime interface, v1";
const csi = readJson("csi-v1.json") as GrpcDefinition;
const csiTitle = "The container storage interface, v1, of a node";
const plugins = readJson("plugin-registration-v1.json") as GrpcDefinition;
const pluginsTitle = "The registration of plugins with the kubelet, v1";
const devicePlugins = readJson("device-plugin-v1beta1.json") as GrpcDefinition;
const devicePluginsTitle = "The device plugins of a kubelet, v1beta1";
const dra = readJson("dra-v1.json") as GrpcDefinition;
const draTitle = "The DRA drivers of a node, v1";
const draBeta = readJson("dra-v1beta1.json") as GrpcDefinition;
const draHealth = readJson("dra-health-v1alpha1.json") as GrpcDefinition;
const draHealthTitle = "The health of devices as DRA drivers report it, v1alpha1";
const podResources = readJson("pod-resources-v1.json") as GrpcDefinition;
const podResourcesTitle = "The resources of pods as the kubelet shows them to other programs, v1";
const kubernetes = readJson("kubernetes-v1.36.json") as OpenApi;
write("src/model/generated/kubernetes.ts", kubernetesTypes(kubernetes));
write("docs/kubelet-settings.md", kubeletSettingsPage());
write("docs/pod-fields.md", podFieldsPage(kubernetes));
write(
  "src/model/generated/pod-dump-types.ts",
  podDumpTypesModule(readJson("pod-dump-types-v1.36.json") as PodDumpTypes),
);
write(
  "src/model/generated/wire-types.ts",
  wireTypesModule(readJson("wire-types-v1.36.json") as WireTypes),
);
write(
  "src/config/generated/kubelet-configuration.ts",
  configTypesModule(readJson("kubelet-configuration-v1beta1.json") as ConfigTypes),
);
write(
  "src/config/generated/kubelet-flags.ts",
  kubeletFlagsModule(readJson("kubelet-flags-v1.36.json") as FlagEntry[]),
);
write(
  "src/config/generated/feature-gates.ts",
  featureGatesModule(readJson("feature-gates-v1.36.json") as FeatureGates),
);
write(
  "src/model/generated/metrics.ts",
  metricsModule([...(readJson("metrics-v1.36.json") as MetricEntry[]), ...ownMetrics]),
);
write("src/model/generated/cri.ts", grpcTypes(criTitle, cri));
write("src/model/generated/csi.ts", grpcTypes(csiTitle, csi));
write("src/model/generated/device-plugin.ts", grpcTypes(devicePluginsTitle, devicePlugins));
write("src/model/generated/dra.ts", grpcTypes(draTitle, dra));
write("src/model/generated/dra-health.ts", grpcTypes(draHealthTitle, draHealth));
write("src/model/generated/pod-resources.ts", grpcTypes(podResourcesTitle, podResources));
const protos = {
  "cri.proto": grpcProto(criTitle, cri),
  "csi.proto": grpcProto(csiTitle, csi),
  "plugin-registration.proto": grpcProto(pluginsTitle, plugins),
  "device-plugin.proto": grpcProto(devicePluginsTitle, devicePlugins),
  "dra.proto": grpcProto(draTitle, dra),
  "dra-v1beta1.proto": grpcProto("The DRA drivers of a node, v1beta1", draBeta),
  "dra-health.proto": grpcProto(draHealthTitle, draHealth),
  "pod-resources.proto": grpcProto(podResourcesTitle, podResources),
  "containerd-content.proto": readFileSync(join(data, "containerd-content.proto"), "utf8"),
  "containerd-events.proto": readFileSync(join(data, "containerd-events.proto"), "utf8"),
};
for (const [name, text] of compileProtos(protos)) write(join("src/generated", name), text);

if (stale.length > 0) {
  console.error(`not current, run \`npm run gen\`: ${stale.join(", ")}`);
  process.exitCode = 1;
}
