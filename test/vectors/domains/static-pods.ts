import { parseYaml } from "../../../src/lib/yaml/parse-yaml.ts";
import { fileProblemMessage, parsePodText } from "../../../src/model/manifest/pod-text.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly manifest: string;
  readonly path: string;
  readonly nodeName: string;
}

interface Answer {
  readonly accepted: boolean;
  readonly error?: string;
  readonly errorTruncated?: boolean;
  readonly pod?: { readonly metadata: Readonly<Record<string, unknown>> };
}

export const staticPods: VectorDomain = vectorDomain<Input>("static-pods", run, comparable);

function run({ manifest, path, nodeName }: Input): unknown {
  const place = {
    nodeName,
    origin: { kind: "file", path },
    allowedReferences: "none",
  } as const;
  const parsed = parsePodText(manifest, place, parseYaml);
  if (parsed.ok) {
    const [pod] = parsed.value.pods;
    const uidGenerated = /^[0-9a-f]{32}$/.test(pod?.metadata.uid ?? "");
    return { accepted: true, pod, uidGenerated };
  }
  const { validationErrors } = parsed.error;
  return {
    accepted: false,
    error: fileProblemMessage(path, parsed.error),
    validationErrors: validationErrors?.map(({ type, field, detail }) => ({ type, field, detail })),
  };
}

/** YAML syntax errors and dumps of Go values are worded by Go; of a time that is set, the UID shows the time zone. */
function comparable(value: unknown): unknown {
  const { errorTruncated: _, ...answer } = value as Answer;
  if (!answer.accepted) {
    const error = (answer.error ?? "")
      .replace(/\(yaml: .*/s, "(yaml: (text)")
      .replace(/(invalid pod: &core\.\w+\{\.\.\.\}).*/s, "$1");
    return { ...answer, error };
  }
  const metadata = answer.pod?.metadata ?? {};
  if (metadata["deletionTimestamp"] === undefined) return answer;
  const { uid: _uid, annotations: _annotations, ...others } = metadata;
  return { ...answer, pod: { ...answer.pod, metadata: others } };
}
