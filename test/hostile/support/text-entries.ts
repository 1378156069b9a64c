import { parseConfigDocument } from "../../../src/config/config-document.ts";
import { parseReservedMemory, parseTaints } from "../../../src/config/flags/node-objects.ts";
import { parseSysctlAllowlist } from "../../../src/core/admission/sysctl-admission.ts";
import { parseEnvFile } from "../../../src/core/env/env-file.ts";
import { expand, maxExpandedBytes } from "../../../src/core/env/expansion.ts";
import { parseFieldPath } from "../../../src/core/env/field-path.ts";
import { parseThresholds } from "../../../src/core/eviction/parse-thresholds.ts";
import {
  type CredentialProvider,
  parseCredentialAnswer,
} from "../../../src/core/image/credential-provider.ts";
import { dockerConfigLogins } from "../../../src/core/image/docker-config.ts";
import { findLogins } from "../../../src/core/image/keyring.ts";
import { matchesRegistry } from "../../../src/core/image/registry-pattern.ts";
import { parseResolverConfig } from "../../../src/core/network/resolver-config.ts";
import { parseRuntimeVersion } from "../../../src/core/node/runtime-version.ts";
import { OomReport } from "../../../src/core/oom/oom-kill.ts";
import { parseCgroupPath } from "../../../src/core/resource/cgroup-name.ts";
import { decodeKubeconfig } from "../../../src/drivers/kube/decode-kubeconfig.ts";
import { parseCertificates } from "../../../src/drivers/kube/key-pair-files.ts";
import { parseCgroupMounts } from "../../../src/drivers/linux/cgroup-mounts.ts";
import { parseFile } from "../../../src/drivers/manifest/parse-file.ts";
import { decodeBase64 } from "../../../src/lib/base64.ts";
import { parseCsvRecord } from "../../../src/lib/csv-record.ts";
import { parseDuration } from "../../../src/lib/duration.ts";
import { matchesGlob } from "../../../src/lib/glob.ts";
import { parseGoFloat32 } from "../../../src/lib/go-float.ts";
import { quoteText } from "../../../src/lib/go-text.ts";
import { parseUrlReference } from "../../../src/lib/go-url.ts";
import { parseIpAddress } from "../../../src/lib/ip-address.ts";
import { parseJson } from "../../../src/lib/json-parser.ts";
import { parseJsonText } from "../../../src/lib/json-text.ts";
import { parseMountInfo } from "../../../src/lib/mount-info.ts";
import { cleanPath } from "../../../src/lib/path.ts";
import { parseTime } from "../../../src/lib/time.ts";
import { listDuplicateKeys } from "../../../src/lib/yaml/duplicate-keys.ts";
import { parseYaml, parseYamlDocuments } from "../../../src/lib/yaml/parse-yaml.ts";
import { parseImageName } from "../../../src/model/image-name.ts";
import { parseLabelSelector } from "../../../src/model/label-selector.ts";
import { parseLogLine } from "../../../src/model/log/log-line.ts";
import { parseQuantity } from "../../../src/model/quantity.ts";
import { parseRuntimeEndpoint } from "../../../src/model/runtime-endpoint.ts";
import { validateIp } from "../../../src/model/validate/addresses.ts";
import { validatePodAnnotations } from "../../../src/model/validate/pod-annotations.ts";
import { validatePodSecurityContext } from "../../../src/model/validate/security-context.ts";
import { parseFieldSelector } from "../../../src/server/field-selector.ts";
import { readToken } from "../../../src/server/kubelet/bearer-token.ts";
import {
  cleanRequestPath,
  parseQuery,
  parseRequestTarget,
} from "../../../src/server/kubelet/request-target.ts";
import { parseForwardedPorts } from "../../../src/server/kubelet/stream-options.ts";
import { FrameReader } from "../../../src/server/spdy/frame.ts";
import { offeredProtocols } from "../../../src/server/websocket/connection.ts";
import { MessageReader } from "../../../src/server/websocket/frame.ts";
import type { Entry } from "./linear-time.ts";

const provider: CredentialProvider = {
  name: "p",
  matchImages: ["*"],
  defaultCacheMs: 0,
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  args: [],
  env: {},
};
const yaml = { parseYaml, listDuplicateKeys };
const repeated =
  (unit: string, before = "", after = "") =>
  (length: number) =>
    before + unit.repeat(Math.ceil(length / unit.length)) + after;
const numbered =
  (unit: (index: number) => string, before = "", after = "") =>
  (length: number) =>
    before +
    Array.from({ length: Math.ceil(length / 12) }, (_, index) => unit(index)).join("") +
    after;

/** Texts that are wrong often make parsers throw; what counts is how long that takes. */
function attempt(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (error instanceof RangeError) throw error;
  }
}

function pushInPieces(reader: { push(bytes: Buffer): Iterable<unknown> }, text: string): void {
  const bytes = Buffer.from(text, "latin1");
  attempt(() => {
    for (let at = 0; at < bytes.length; at += 7)
      Array.from(reader.push(bytes.subarray(at, at + 7)));
  });
}

const maskedFrame = (length: number): string => {
  const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
  header.writeUInt32BE(length + 1, 6);
  return header.toString("latin1") + "a".repeat(length);
};
const emptyContinuations = repeated(
  "\u0000\u0080\u0001\u0002\u0003\u0004",
  "\u0002\u0080\u0001\u0002\u0003\u0004",
);

const yamlTexts = [
  repeated("- a\n"),
  repeated("a: &a b\n"),
  repeated("- *a\n", "- &a b\n"),
  repeated("- {a: [b]}\n"),
  repeated("---\na: 1\n"),
  repeated("# comment\n", "a:\n"),
  repeated("  x\n", "a: |\n"),
  repeated("\n", "a: >\n  x", "\n b"),
  repeated(" x\n", "a: 'x\n"),
  repeated("[a, b, ", "a: "),
  repeated("!!str a ", "a: "),
  repeated("a: ", "a: {", "}"),
  repeated("a, ", "a: [", "]"),
  repeated("9", "a: "),
  repeated("0", "a: 0", "1"),
  repeated("\\x41", 'a: "'),
  numbered((index) => `key${index}: 1\n`),
  numbered((index) => `- &a${index} x\n`),
];
const jsonTexts = [
  repeated("[],", "[", "[]]"),
  repeated('"a":1,', "{", '"a":1}'),
  repeated("\\u0041", '["', '"]'),
  repeated("9", "[", "]"),
  numbered((index) => `"key${index}":1,`, "{", '"z":1}'),
  numbered((index) => `{"a":${index}},`, "[", "{}]"),
];
const podText = (spec: string) =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{${spec}}}`;
const podTexts = [
  (length: number) => podText(`"containers":[${'{"name":"a"},'.repeat(length / 13)}{}]`),
  (length: number) =>
    podText(`"volumes":[${'{"name":"a"},'.repeat(length / 13)}{}],"containers":[]`),
  (length: number) =>
    podText(`"containers":[{"name":"a","env":[${'{"name":"a"},'.repeat(length / 13)}{}]}]`),
  (length: number) =>
    podText(
      `"containers":[{"name":"a","ports":[${'{"containerPort":1},'.repeat(length / 20)}{}]}]`,
    ),
  (length: number) =>
    podText(
      `"containers":[{"name":"a","image":"a","volumeMounts":[${numbered((index) => `{"name":"v${index}","mountPath":"/${index}"},`)(length / 3)}{}]}]`,
    ),
  (length: number) => podText(`"tolerations":[${"{},".repeat(length / 3)}{}],"containers":[]`),
  (length: number) =>
    podText(`"hostAliases":[${'{"ip":"1.1.1.1"},'.repeat(length / 17)}{}],"containers":[]`),
  (length: number) =>
    podText(
      `"nodeSelector":{${numbered((index) => `"k${index}":"v",`)(length)}"z":""},"containers":[]`,
    ),
];

/** Where text from outside comes in, by subject. */
export const textEntries: Readonly<Record<string, readonly Entry[]>> = {
  requests: [
    { name: "request target", run: (text) => parseRequestTarget("GET", text) },
    { name: "request path", run: cleanRequestPath },
    { name: "query", run: parseQuery },
    { name: "forwarded ports", run: (text) => parseForwardedPorts(new Map([["port", [text]]])) },
    {
      name: "authorization header",
      run: (text) => readToken({ headers: { authorization: text } }),
    },
    {
      name: "WebSocket protocols",
      run: (text) => offeredProtocols({ upgrade: "websocket", "sec-websocket-protocol": text }),
    },
    {
      name: "label selector",
      run: parseLabelSelector,
      texts: [repeated("a,", "a in ("), repeated("a,", "a in (", ")"), repeated("a in (a),")],
    },
    {
      name: "field selector",
      run: (text) => attempt(() => parseFieldSelector(text, {})),
    },
    { name: "URL", run: (text) => [parseUrlReference(text), parseUrlReference(`http://${text}`)] },
    {
      name: "WebSocket frames",
      run: (text) => pushInPieces(new MessageReader(2 ** 25), text),
      texts: [maskedFrame, emptyContinuations],
    },
    {
      name: "SPDY frames",
      run: (text) => pushInPieces(new FrameReader(), text),
      texts: [repeated("\u0000", "\u0000\u0000\u0000\u0001\u0000\u00ff\u00ff\u00ff")],
    },
  ],
  manifests: [
    { name: "YAML", run: parseYaml, texts: yamlTexts, isSecond: true },
    {
      name: "YAML documents",
      run: (text) => parseYamlDocuments(text, { areKeysUnique: true }),
      texts: yamlTexts,
    },
    { name: "JSON with positions", run: parseJson, texts: jsonTexts },
    { name: "JSON", run: (text) => attempt(() => parseJsonText(text)), texts: jsonTexts },
  ],
  files: [
    {
      name: "manifest of up",
      isSecond: true,
      run: (text) => parseFile({ path: "/m", text }, "node", "up"),
      texts: [...yamlTexts, ...podTexts],
    },
    {
      name: "manifest of a kubelet",
      isSecond: true,
      run: (text) => parseFile({ path: "/m", text }, "node", "kubelet"),
      texts: podTexts,
    },
    {
      name: "configuration file",
      isSecond: true,
      run: (text) => parseConfigDocument(text, yaml),
      texts: yamlTexts,
    },
    {
      name: "kubeconfig",
      run: (text) => decodeKubeconfig({ clusters: [{ name: text }], "current-context": text }, "/"),
    },
    {
      name: "PEM",
      run: (text) => attempt(() => parseCertificates(text)),
      texts: [repeated("-----BEGIN CERTIFICATE-----")],
    },
    { name: "resolv.conf", run: parseResolverConfig },
    {
      name: "mountinfo",
      run: (text) => {
        attempt(() => parseMountInfo(text));
        attempt(() => parseCgroupMounts(text));
      },
      texts: [
        repeated("1 2 3:4 / /a rw - ext4 /dev/a rw\n"),
        repeated("shared:1 ", "1 2 3:4 / /a rw ", "- ext4 /dev/a rw"),
        repeated("\\040", "1 2 3:4 / /a", " rw - ext4 /dev/a rw"),
      ],
    },
    {
      name: "environment file",
      run: parseEnvFile,
      texts: [repeated("A='x\n"), repeated("A='x'\n")],
    },
  ],
  pods: [
    {
      name: "image name",
      run: (text) => [
        parseImageName(text),
        parseImageName(`a/${text}`),
        parseImageName(`a@${text}`),
      ],
      texts: [repeated("0A", "G.G", "\u0000"), repeated("a__", "x/")],
    },
    {
      name: "registry glob",
      run: (text) => [matchesGlob(text, "a".repeat(200)), matchesGlob("*a*b", text)],
    },
    {
      name: "registry pattern",
      run: (text) => matchesRegistry(`${text}.io`, `${"a".repeat(60)}.io/x`),
    },
    {
      name: "pull secret",
      run: (text) => {
        const logins = dockerConfigLogins("legacy", text);
        return logins.ok ? findLogins(logins.value, "a.io/x") : undefined;
      },
      texts: [...jsonTexts, numbered((index) => `"a.io?${index}":{},`, "{", '"b":{}}')],
    },
    {
      name: "credential plugin's answer",
      run: (text) => parseCredentialAnswer(provider, text),
      texts: jsonTexts,
    },
    {
      name: "references to variables",
      run: (text) => expand(text, () => "x", maxExpandedBytes),
      texts: [repeated("$(A)"), repeated("$(A", "", ")")],
    },
    {
      name: "field path",
      run: (text) => parseFieldPath("v1", text),
      texts: [repeated("['", "metadata.labels", "'")],
    },
    {
      name: "quantity",
      run: parseQuantity,
      texts: [repeated("9", "1."), repeated("0", "1."), repeated("9", "1e")],
    },
    {
      name: "sysctl name",
      run: (text) =>
        validatePodSecurityContext(
          { containers: [], securityContext: { sysctls: [{ name: text, value: text }] } },
          "spec",
        ),
    },
    {
      name: "address",
      run: (text) => [validateIp(text, "ip"), parseIpAddress(text), validateIp(`::${text}`, "ip")],
    },
    {
      name: "annotations",
      run: (text) =>
        [
          "scheduler.alpha.kubernetes.io/tolerations",
          "controller.kubernetes.io/pod-deletion-cost",
          "seccomp.security.alpha.kubernetes.io/pod",
          "container.apparmor.security.beta.kubernetes.io/a",
        ].map((key) =>
          validatePodAnnotations({ [key]: text, [text]: "" }, { containers: [] }, "m"),
        ),
    },
    { name: "base64", run: decodeBase64 },
    { name: "path", run: cleanPath },
    { name: "quoted text", run: quoteText },
  ],
  node: [
    {
      name: "log line",
      run: (text) => {
        const time = "2026-01-01T00:00:00.000000000Z stdout ";
        const lines = [text, `${time}${text}`, `{"log":"${text}"}`, `{"log":${text}}`];
        return lines.flatMap((line) =>
          (["cri", "docker-json"] as const).map((format) =>
            parseLogLine(format, Buffer.from(line)),
          ),
        );
      },
    },
    {
      name: "kernel log line",
      run: (text) => {
        const report = new OomReport();
        report.take("x invoked oom-killer: y");
        return [text, `oom-kill:constraint=${text}`, `Task in ${text}`].map((line) =>
          report.take(line),
        );
      },
      texts: [
        repeated(",cpuset=,mems_allowed=,oom_memcg=m", "oom-kill:constraint=,nodemask="),
        repeated(",pid=1,uid=", "oom-kill:constraint="),
        repeated("Killed process 0 (o"),
        repeated("killed as a result of limit of Task in t"),
      ],
    },
    {
      name: "duration",
      run: parseDuration,
      texts: [repeated("s000", "1.", "\u00b5")],
    },
    {
      name: "number",
      run: parseGoFloat32,
      texts: [repeated("00_", "0_", "_"), repeated("0", "0x", "p1")],
    },
    { name: "time", run: parseTime },
    {
      name: "list of a flag",
      run: parseCsvRecord,
      texts: [repeated('"a"",', '"'), repeated('"a",')],
    },
    { name: "taints", run: parseTaints },
    { name: "reserved memory", run: parseReservedMemory },
    {
      name: "sysctl patterns",
      run: (text) => [parseSysctlAllowlist([text]), parseSysctlAllowlist(text.split(","))],
    },
    {
      name: "thresholds",
      run: (text) =>
        parseThresholds({
          evictionHard: { "memory.available": text },
          evictionSoft: {},
          evictionSoftGracePeriod: {},
          evictionMinimumReclaim: {},
          enforceNodeAllocatable: [],
        }),
    },
    {
      name: "cgroup path",
      run: (text) => [parseCgroupPath(text, "systemd"), parseCgroupPath(text, "cgroupfs")],
    },
    { name: "runtime's version", run: parseRuntimeVersion },
    { name: "runtime's endpoint", run: (text) => attempt(() => parseRuntimeEndpoint(text)) },
  ],
};
